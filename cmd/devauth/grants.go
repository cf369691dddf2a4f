package main

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"maps"
	"strings"
	"sync"
	"time"
)

const (
	codeLife    = time.Minute
	refreshLife = 24 * time.Hour // since the last use
	maxGrants   = 10_000
)

var errFull = errors.New("too many sign-ins are open")

// grant is one person's yes to one client. It can be redeemed by exactly one
// credential at a time: first the code, then each refresh token in turn.
type grant struct {
	access
	redirect, challenge string // what the code is bound to

	next     [32]byte // digest of the credential whose turn it is
	redeemed bool     // the code was: what follows are refresh tokens
	expires  time.Time
}

// grants keeps the open grants. A credential is "ID.SECRET": whoever shows a
// secret of a grant other than the one whose turn it is (a code or a refresh
// token a second time) has a copy, so the grant ends for the thief and the
// owner alike. No history is needed to know it.
type grants struct {
	mu   sync.Mutex
	open map[string]*grant
}

func newGrants() *grants { return &grants{open: make(map[string]*grant)} }

// begin opens a grant and returns its authorization code.
func (g *grants) begin(gr grant) (code string, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.open) >= maxGrants {
		maps.DeleteFunc(g.open, func(_ string, gr *grant) bool { return !time.Now().Before(gr.expires) })
	}
	if len(g.open) >= maxGrants {
		return "", errFull
	}
	id := rand.Text()
	gr.expires = time.Now().Add(codeLife)
	g.open[id] = &gr
	return gr.credential(id), nil
}

// redeem takes the credential's turn if check agrees and returns what was
// granted with the refresh token for the next turn. A check that fails with
// invalid_grant ends the grant too: its credential is in wrong hands.
func (g *grants) redeem(credential string, check func(*grant) error) (granted access, refresh string, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	id, secret, _ := strings.Cut(credential, ".")
	gr := g.open[id]
	if gr == nil || !time.Now().Before(gr.expires) {
		delete(g.open, id)
		return access{}, "", &oauthError{"invalid_grant", "unknown or expired"}
	}
	digest := sha256.Sum256([]byte(secret))
	if subtle.ConstantTimeCompare(digest[:], gr.next[:]) != 1 {
		delete(g.open, id)
		return access{}, "", &oauthError{"invalid_grant", "used before; everything that followed from it is revoked"}
	}
	if err := check(gr); err != nil {
		if oe := (*oauthError)(nil); errors.As(err, &oe) && oe.code == "invalid_grant" {
			delete(g.open, id)
		}
		return access{}, "", err
	}
	gr.redeemed = true
	gr.expires = time.Now().Add(refreshLife)
	return gr.access, gr.credential(id), nil
}

// credential makes the next credential and gives it the turn.
func (gr *grant) credential(id string) string {
	secret := rand.Text()
	gr.next = sha256.Sum256([]byte(secret))
	return id + "." + secret
}
