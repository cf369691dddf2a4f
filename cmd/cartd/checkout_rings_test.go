package main

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// badRings are what must not become the ring in force, and what is said then.
func badRings(a, b ringKey) map[string][2]string {
	return map[string][2]string{
		"empty":                         {"", "no key"},
		"comments only":                 {"# " + a.line("mint"), "no key"},
		"two keys that seal":            {a.line("mint") + b.line("mint"), "line 2"},
		"no key that seals":             {a.line("") + b.line(""), "mint"},
		"short key":                     {a.id + " " + a.secret[:20] + " mint\n", "line 1"},
		"key with one character less":   {a.id + " " + a.secret[:42] + " mint\n", "line 1"},
		"id twice":                      {a.line("mint") + a.id + " " + b.secret + "\n", "line 2"},
		"secret twice":                  {a.line("mint") + b.id + " " + a.secret + "\n", "line 2"},
		"broken off":                    {a.line("") + b.line("mint")[:30], "line 2"},
		"secret in the place of the id": {a.secret + " " + a.id + " mint\n", "line 1"},
		"too large":                     {a.line("mint") + strings.Repeat("#\n", 40<<10), "larger"},
	}
}

func TestBadRingFileIsRefusedAndTheRingInForceStays(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.sell(t, "CLOCK", 100)
	key, next := s.newKey(), s.newKey()
	r := s.openKeyed(t, key.line("mint"))
	alice := s.customer("alice")
	f := s.asked(t, r.replica, alice, line{"CLOCK", 1})
	refuses := func(t *testing.T, want string) {
		t.Helper()
		before := len(r.out.String())
		r.hup(t)
		eventually(t, "the ring is refused, and the log says why: "+want, func() bool {
			news := r.out.String()[before:]
			_, said, found := strings.Cut(news, "requestState keys refused, the ring in force stays")
			return found && strings.Contains(said, want) && strings.Contains(said, key.id)
		})
		r.wantKeys(t, key.id+" mint")
		if got := f.send(t, r.replica, ""); got.Result.RequestState == "" {
			t.Errorf("flow under the ring in force = %v, want it to go on", got)
		}
	}
	for name, bad := range badRings(key, next) {
		ok := t.Run(name, func(t *testing.T) {
			r.setRing(t, bad[0])
			refuses(t, bad[1])
		})
		if !ok {
			return // each would wait in vain
		}
	}
	t.Run("gone", func(t *testing.T) {
		if err := os.Remove(r.file); err != nil {
			t.Fatal(err)
		}
		refuses(t, "no such file")
	})
	f.send(t, r.replica, sayYes).wantPlaced(t)
	r.setRing(t, key.line("")+next.line("mint"))
	r.hangUp(t)
	r.wantKeys(t, key.id, next.id+" mint")
	s.asked(t, r.replica, alice, line{"CLOCK", 1}).send(t, r.replica, sayYes).wantPlaced(t)
	s.wantOrders(t, 2)
}

func TestReplicaWithoutAUsableRingDoesNotStart(t *testing.T) {
	t.Parallel()
	a, b := newRingKey(), newRingKey()
	refuses := func(t *testing.T, file, want string) {
		t.Helper()
		env := goodEnv()
		maps.Copy(env, map[string]string{"REQUEST_STATE_KEYS": "", "REQUEST_STATE_KEYS_FILE": file})
		p := start(t, env, "serve")
		code, printed := p.exit(t), p.out.String()
		if code != 1 || !strings.Contains(printed, "cartd: requestState keys: ") || !strings.Contains(printed, want) {
			t.Errorf("cartd serve = exit %d, want 1 and a message with %q:\n%s", code, want, printed)
		}
		for _, secret := range []string{a.secret, b.secret} {
			if strings.Contains(printed, secret[:10]) {
				t.Error("the message holds a secret")
			}
		}
	}
	for name, bad := range badRings(a, b) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "keys")
			if err := os.WriteFile(file, []byte(bad[0]), 0o600); err != nil {
				t.Fatal(err)
			}
			refuses(t, file, bad[1])
		})
	}
	t.Run("not there", func(t *testing.T) { refuses(t, filepath.Join(t.TempDir(), "keys"), "no such file") })
	t.Run("a directory", func(t *testing.T) { refuses(t, t.TempDir(), "not a regular file") })
	t.Run("not to be read", func(t *testing.T) {
		// Not even the superuser may read this one, if it is there at all.
		refuses(t, "/proc/self/mem", "")
	})
}
