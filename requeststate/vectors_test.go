package requeststate

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"flag"
	"os"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "add vectors that are missing in testdata/vectors.json")

const vectorFile = "testdata/vectors.json"

// vectorSet is the file of known answers. FORMAT.md describes it.
type vectorSet struct {
	Format  string      `json:"format"`
	Keys    []vectorKey `json:"keys"`
	Vectors []vector    `json:"vectors"`
}

type vectorKey struct {
	ID     string `json:"id"`
	Secret string `json:"secret"`
	Subkey string `json:"subkey"`
}

type vector struct {
	Name    string        `json:"name"`
	NowMS   int64         `json:"now_ms"`
	Binding vectorBinding `json:"binding"`
	Token   string        `json:"token"`
	Check   string        `json:"check"`
	Made    *vectorMade   `json:"made,omitempty"`
}

type vectorBinding struct {
	Audience  string   `json:"audience"`
	Issuer    string   `json:"issuer"`
	Subject   string   `json:"subject"`
	ClientID  string   `json:"client_id"`
	Owner     string   `json:"owner"`
	Method    string   `json:"method"`
	Tool      string   `json:"tool"`
	Arguments string   `json:"arguments"`
	Questions []string `json:"questions"`
}

// vectorMade is what went into a token that was sealed as it stands.
type vectorMade struct {
	Key       string       `json:"key"`
	Nonce     string       `json:"nonce"`
	Claims    vectorClaims `json:"claims"`
	Plaintext string       `json:"plaintext"`
}

type vectorClaims struct {
	Version     byte   `json:"v"`
	Method      string `json:"method"`
	Tool        string `json:"tool"`
	Round       byte   `json:"round"`
	Issued      int64  `json:"issued_ms"`
	Expires     int64  `json:"expires_ms"`
	FlowExpires int64  `json:"flow_expires_ms"`
	Flow        string `json:"flow"`
	Question    string `json:"question"`
	Audience    string `json:"audience"`
	Principal   string `json:"principal"`
	Arguments   string `json:"arguments"`
	Payload     string `json:"payload"`
}

// TestVectors compares the committed known answers with those that the code
// gives. They are the format: a difference is a token in somebody's hands that no
// longer opens. So -update adds and never replaces; a format that has to change
// gets another prefix and other vectors.
func TestVectors(t *testing.T) {
	want := buildVectors(t)
	have := readVectors(t)
	if *update {
		have = addMissing(t, have, want)
	}
	if got, want := asJSON(t, have), asJSON(t, want); !bytes.Equal(got, want) {
		t.Fatalf("%s differs from what the code makes; the format is frozen.\n%s", vectorFile, firstDifference(got, want))
	}
	for _, v := range have.Vectors {
		t.Run(v.Name, func(t *testing.T) { checkVector(t, have, v) })
	}
}

func checkVector(t *testing.T, set vectorSet, v vector) {
	s := newSealer(t, set.Keys[0].ID+" "+set.Keys[0].Secret, set.Keys[1].ID+" "+set.Keys[1].Secret)
	ticket, err := s.openAt(vectorRequest(t, v.Binding), v.Token, time.UnixMilli(v.NowMS))
	if got := Check(err); got != v.Check {
		t.Fatalf("Open = %v (%q), want check %q", err, got, v.Check)
	}
	if err != nil {
		return
	}
	c := v.Made.Claims
	if ticket.Round() != int(c.Round) || ticket.Question() != c.Question || ticket.Flow().String() != c.Flow ||
		string(ticket.claims.payload) != c.Payload {
		t.Errorf("ticket = %+v, want %+v", ticket.claims, c)
	}
}

func readVectors(t *testing.T) vectorSet {
	t.Helper()
	var set vectorSet
	text, err := os.ReadFile(vectorFile)
	if os.IsNotExist(err) && *update {
		return set
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &set); err != nil {
		t.Fatal(err)
	}
	return set
}

// addMissing writes the vectors that the file does not have yet. Those it has
// must be what the code makes.
func addMissing(t *testing.T, have, want vectorSet) vectorSet {
	t.Helper()
	committed := make(map[string]vector)
	for _, v := range have.Vectors {
		committed[v.Name] = v
	}
	for _, v := range want.Vectors {
		old, ok := committed[v.Name]
		if ok && !bytes.Equal(asJSON(t, old), asJSON(t, v)) {
			t.Fatalf("vector %q is frozen and the code makes another", v.Name)
		}
		delete(committed, v.Name)
	}
	if len(committed) != 0 || len(have.Keys) != 0 && !bytes.Equal(asJSON(t, have.Keys), asJSON(t, want.Keys)) {
		t.Fatalf("a key or a vector is frozen and the code does not make it any more: %d", len(committed))
	}
	if err := os.WriteFile(vectorFile, asJSON(t, want), 0o644); err != nil {
		t.Fatal(err)
	}
	return want
}

func asJSON(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(text, '\n')
}

func firstDifference(got, want []byte) string {
	g, w := bytes.Split(got, []byte("\n")), bytes.Split(want, []byte("\n"))
	for i := range min(len(g), len(w)) {
		if !bytes.Equal(g[i], w[i]) {
			return "file: " + string(g[i]) + "\ncode: " + string(w[i])
		}
	}
	return "one is longer"
}

func vectorRequest(t *testing.T, v vectorBinding) Binding {
	t.Helper()
	var args checkoutArgs
	if err := json.Unmarshal([]byte(v.Arguments), &args); err != nil {
		t.Fatal(err)
	}
	owner, err := hex.DecodeString(v.Owner)
	if err != nil {
		t.Fatal(err)
	}
	return Binding{
		Audience: v.Audience, Issuer: v.Issuer, Subject: v.Subject, ClientID: v.ClientID, Owner: [16]byte(owner),
		Method: v.Method, Tool: v.Tool, Arguments: args, Questions: v.Questions,
	}
}
