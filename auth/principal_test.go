package auth_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"example.com/mcp-cart/auth"
)

// TestUserIDIsFixed holds the one answer that databases depend on: a change
// would take everybody's carts away.
func TestUserIDIsFixed(t *testing.T) {
	tests := []struct {
		principal auth.Principal
		want      string
	}{
		{auth.Principal{Kind: auth.User, Issuer: "https://as.example", Subject: "alice"}, "3cd6f9bfca28a1c115182b353a592803"},
		{auth.Principal{Kind: auth.Client, Issuer: "https://as.example", Subject: "robot"}, "0b2e5e4edc2a3162de488d7d3664623c"},
		{auth.Principal{Kind: auth.User, Issuer: "https://as.example/", Subject: "Zoë"}, "2e4e57d288af7b5d1b2b43d1fe49373f"},
	}
	for _, tt := range tests {
		id := tt.principal.UserID()
		if got := hex.EncodeToString(id[:]); got != tt.want {
			t.Errorf("UserID of %s at %s = %s, want %s", tt.principal.Subject, tt.principal.Issuer, got, tt.want)
		}
	}
}

func TestUserIDTellsPeopleApart(t *testing.T) {
	alice := auth.Principal{Kind: auth.User, Issuer: "https://as.example", Subject: "alice", ClientID: "c1"}
	same := alice
	same.ClientID, same.Scopes = "c2", auth.ParseScopes("cart")
	if alice.UserID() != same.UserID() {
		t.Error("one user with two clients has two ids, want one")
	}
	others := map[string]auth.Principal{
		"another kind":    {Kind: auth.Client, Issuer: "https://as.example", Subject: "alice"},
		"another issuer":  {Kind: auth.User, Issuer: "https://as.example/", Subject: "alice"},
		"another subject": {Kind: auth.User, Issuer: "https://as.example", Subject: "Alice"},
		"moved border":    {Kind: auth.User, Issuer: "https://as.examplea", Subject: "lice"},
		"moved to kind":   {Kind: "userh", Issuer: "ttps://as.example", Subject: "alice"},
	}
	for name, other := range others {
		if alice.UserID() == other.UserID() {
			t.Errorf("%s: same id, want another", name)
		}
	}
}

func TestPrincipalPrintsAsAPseudonym(t *testing.T) {
	p := auth.Principal{Kind: auth.User, Issuer: "https://secret-as.example", Subject: "secret-sub", ClientID: "secret-client"}
	id := p.UserID()
	text := fmt.Sprintf("%v %+v %#v %s %q %x", p, p, p, p, p, p)
	var logged bytes.Buffer
	slog.New(slog.NewJSONHandler(&logged, nil)).Info("x", "principal", p, "pointer", &p)
	for _, got := range []string{text, logged.String()} {
		if strings.Contains(got, "secret") || strings.Contains(got, hex.EncodeToString([]byte("secret"))) {
			t.Errorf("a principal prints as %s", got)
		}
	}
	var line map[string]any
	if err := json.Unmarshal(logged.Bytes(), &line); err != nil {
		t.Fatal(err)
	}
	want := "user:" + hex.EncodeToString(id[:])
	if got := strings.ReplaceAll(fmt.Sprint(line["principal"]), "-", ""); got != want {
		t.Errorf("logged principal = %s, want %s", got, want)
	}
}

func TestScopes(t *testing.T) {
	tests := []struct {
		granted string
		scope   string
		want    bool
	}{
		{"cart", "cart", true},
		{"cart", "cart:read", true},
		{"cart", "cart:write", true},
		{"cart:read", "cart:read", true},
		{"cart:read", "cart:write", false},
		{"cart:read cart:write", "cart", false},
		{"cart", "catalog:read", false},
		{"cart", "order:read", false},
		{"cart", "order:place", false},
		{"cart", "stock:write", false},
		{"stock:write", "cart:write", false},
		{"order:place", "order:read", false},
		{"order:place stock:write", "stock:write", true},
		{"Cart", "cart:read", false},
		{"cart:*", "cart:read", false},
		{"*", "cart:read", false},
		{"", "cart:read", false},
		{"cart", "", false},
		{"", "", false},
		{"  cart   order:place ", "order:place", true},
		{"cart\torder:place", "order:place", false},
		{"cart\u00a0order:place", "order:place", false},
		{"cart,order:place", "order:place", false},
		{"cart\x00 order:place", "cart", false},
	}
	for _, tt := range tests {
		if got := auth.ParseScopes(tt.granted).Has(tt.scope); got != tt.want {
			t.Errorf("%q.Has(%q) = %v, want %v", tt.granted, tt.scope, got, tt.want)
		}
	}
	if (auth.Scopes{}).Has("cart:read") {
		t.Error("the zero Scopes grants something")
	}
}

func TestMissingScopesKeepTheirOrder(t *testing.T) {
	got := auth.ParseScopes("cart").Missing("order:place", "cart:write", "stock:write")
	if want := []string{"order:place", "stock:write"}; !slices.Equal(got, want) {
		t.Errorf("Missing = %q, want %q", got, want)
	}
	if got := auth.ParseScopes("cart order:place").Missing("cart:write", "order:place"); got != nil {
		t.Errorf("Missing = %q, want nothing", got)
	}
}

func TestScopesAreASet(t *testing.T) {
	a, b := auth.ParseScopes("order:read cart cart"), auth.ParseScopes(`cart  order:read "x" a\b`)
	if a.String() != "cart order:read" || !a.Equal(b) || a.Equal(auth.Scopes{}) {
		t.Errorf("sets are %q and %q, want twice \"cart order:read\"", a, b)
	}
}
