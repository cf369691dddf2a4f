package requeststate

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestForeignRequestIsRefusedAndSpoilsNothing(t *testing.T) {
	s := newSealer(t, oldKey)
	token := begin(t, s)
	for name, tt := range map[string]struct {
		change func(*Binding)
		want   error
	}{
		"another resource":              {func(b *Binding) { b.Audience = "https://shop.example/mcp/" }, ErrAudience},
		"another subject":               {func(b *Binding) { b.Subject = "bob" }, ErrPrincipal},
		"the same subject elsewhere":    {func(b *Binding) { b.Issuer = "https://id2.example" }, ErrPrincipal},
		"another client":                {func(b *Binding) { b.ClientID = "phone" }, ErrPrincipal},
		"another owner":                 {func(b *Binding) { b.Owner[0]++ }, ErrPrincipal},
		"issuer and subject, cut anew":  {func(b *Binding) { b.Issuer, b.Subject = b.Issuer+"a", "lice" }, ErrPrincipal},
		"subject and client, cut anew":  {func(b *Binding) { b.Subject, b.ClientID = "aliced", "esktop" }, ErrPrincipal},
		"another method":                {func(b *Binding) { b.Method = "prompts/get" }, ErrMethod},
		"another tool":                  {func(b *Binding) { b.Tool = "refund" }, ErrTool},
		"another cart":                  {func(b *Binding) { b.Arguments = checkoutArgs{CartID: "cart_2"} }, ErrArguments},
		"another argument":              {func(b *Binding) { b.Arguments = checkoutArgs{CartID: "cart_1", Note: "x"} }, ErrArguments},
		"other questions":               {func(b *Binding) { b.Questions = []string{"confirm"} }, ErrQuestion},
		"the same value of other shape": {func(b *Binding) { b.Arguments = struct{ CartID string }{"cart_1"} }, ErrArguments},
	} {
		t.Run(name, func(t *testing.T) {
			b := alice()
			tt.change(&b)
			_, err := s.Open(b, token)
			wantRefused(t, err, tt.want)
			open(t, s, token)
		})
	}
}

func TestRespelledArgumentsAreTheSameCall(t *testing.T) {
	s := newSealer(t, oldKey)
	first := `{"cart_id":"cart_é","note":"n","tags":["a"]}`
	token, err := s.Begin(called(t, first), "shipping", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, again := range []string{
		first,
		`{"tags":["a"],"note":"n","cart_id":"cart_é"}`,
		` { "cart_id" : "cart_\u00e9" , "note":"\u006e", "tags":[ "a" ] } `,
	} {
		if _, err := s.Open(called(t, again), token); err != nil {
			t.Errorf("Open with %s = %v (%s), want a ticket", again, err, Check(err))
		}
	}
	for _, other := range []string{
		`{"cart_id":"cart_e","note":"n","tags":["a"]}`,
		`{"cart_id":"cart_é","note":"n","tags":["a","a"]}`,
		`{"cart_id":"cart_é","tags":["a"]}`,
		`{}`,
	} {
		_, err := s.Open(called(t, other), token)
		wantRefused(t, err, ErrArguments)
	}
}

func called(t *testing.T, arguments string) Binding {
	t.Helper()
	var args checkoutArgs
	if err := json.Unmarshal([]byte(arguments), &args); err != nil {
		t.Fatal(err)
	}
	b := alice()
	b.Arguments = args
	return b
}

func TestIncompleteBindingIsTheCallersMistake(t *testing.T) {
	s := newSealer(t, oldKey)
	token := begin(t, s)
	long := strings.Repeat("a", maxName+1)
	for name, change := range map[string]func(*Binding){
		"no audience":         func(b *Binding) { b.Audience = "" },
		"no issuer":           func(b *Binding) { b.Issuer = "" },
		"no subject":          func(b *Binding) { b.Subject = "" },
		"no client":           func(b *Binding) { b.ClientID = "" },
		"no owner":            func(b *Binding) { b.Owner = [16]byte{} },
		"no method":           func(b *Binding) { b.Method = "" },
		"no tool":             func(b *Binding) { b.Tool = "" },
		"long method":         func(b *Binding) { b.Method = long },
		"long tool":           func(b *Binding) { b.Tool = long },
		"no questions":        func(b *Binding) { b.Questions = nil },
		"an empty question":   func(b *Binding) { b.Questions = []string{"shipping", ""} },
		"a long question":     func(b *Binding) { b.Questions = []string{"shipping", long} },
		"no arguments":        func(b *Binding) { b.Arguments = nil },
		"undecoded arguments": func(b *Binding) { b.Arguments = json.RawMessage(`{}`) },
	} {
		t.Run(name, func(t *testing.T) {
			b := alice()
			change(&b)
			if _, err := s.Begin(b, "shipping", nil); err == nil || errors.Is(err, ErrInvalid) {
				t.Errorf("Begin = %v, want an error that blames no token", err)
			}
			if _, err := s.Open(b, token); err == nil || errors.Is(err, ErrInvalid) {
				t.Errorf("Open = %v, want an error that blames no token", err)
			}
		})
	}
}

func TestUnlistedQuestionIsNotSealed(t *testing.T) {
	s := newSealer(t, oldKey)
	if _, err := s.Begin(alice(), "refund", nil); err == nil {
		t.Errorf("Begin with an unlisted question = nil, want an error")
	}
	if _, err := open(t, s, begin(t, s)).Continue("refund", nil); err == nil {
		t.Errorf("Continue with an unlisted question = nil, want an error")
	}
}

// redacted prints less than it is, as handles do.
type redacted struct{ Text string }

func (redacted) MarshalText() ([]byte, error) { return []byte("…"), nil }

type pointerRedacted struct{ Text string }

func (*pointerRedacted) MarshalJSON() ([]byte, error) { return []byte(`"…"`), nil }

type recursive struct{ Next *recursive }

type Embedded struct{ A string }

func TestArgumentsThatHideSomethingAreRefused(t *testing.T) {
	for name, arguments := range map[string]any{
		"nil":                 nil,
		"a string":            "cart_1",
		"a map":               map[string]string{},
		"a pointer":           &checkoutArgs{},
		"raw JSON":            struct{ A json.RawMessage }{},
		"a redacted type":     struct{ A redacted }{},
		"redacted by pointer": struct{ A []pointerRedacted }{},
		"a redacted key":      struct{ A map[redactedKey]int }{},
		"a number as key":     struct{ A map[int]int }{},
		"a time":              struct{ A time.Time }{},
		"an interface":        struct{ A any }{},
		"a function":          struct{ A func() }{},
		"an unexported field": struct{ a int }{1},
		"an unwritten field": struct {
			A int `json:"-"`
		}{},
		"an embedded struct":     struct{ Embedded }{},
		"a type within itself":   recursive{},
		"hidden below a pointer": struct{ A *[2]map[string][]redacted }{},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := digestArguments(arguments); err == nil {
				t.Errorf("digestArguments(%T) = nil error, want a refusal", arguments)
			}
		})
	}
}

type redactedKey string

func (redactedKey) MarshalText() ([]byte, error) { return []byte("…"), nil }

func TestPlainArgumentsAreBound(t *testing.T) {
	type item struct {
		SKU      string `json:"sku"`
		Quantity *int64 `json:"quantity"`
	}
	type plainArgs struct {
		Items []item             `json:"items"`
		Rates map[string]float64 `json:"rates"`
		Flags [2]bool            `json:"flags"`
		Raw   []byte             `json:"raw"`
	}
	two := int64(2)
	one, err := digestArguments(plainArgs{Items: []item{{SKU: "a", Quantity: &two}}})
	if err != nil {
		t.Fatalf("digestArguments = %v", err)
	}
	other, err := digestArguments(plainArgs{Items: []item{{SKU: "a"}}})
	if err != nil || one == other {
		t.Errorf("digest without the quantity = %x, %v, want another than %x", other, err, one)
	}
	if _, err := digestArguments(struct{}{}); err != nil {
		t.Errorf("digestArguments(struct{}{}) = %v, want a digest", err)
	}
}
