package auth

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// IssuerStatus is how it stands with the keys of one issuer, for operators only.
type IssuerStatus struct {
	Issuer  string
	Keys    int       // how many are in use; 0 if tokens cannot be verified now
	Fetched time.Time // when they were fetched; zero if never
	Err     error     // why the last fetch failed; nil if it did not
}

// Status lists every issuer, ordered by name.
func (v *Verifier) Status() []IssuerStatus {
	var all []IssuerStatus
	for _, source := range v.issuers {
		all = append(all, source.status())
	}
	slices.SortFunc(all, func(a, b IssuerStatus) int { return cmp.Compare(a.Issuer, b.Issuer) })
	return all
}

// Ready is nil if there is an issuer whose tokens can be verified. One is
// enough: the outage of one issuer must not take the others' users with it.
func (v *Verifier) Ready() error {
	for _, source := range v.issuers {
		if source.status().Keys > 0 {
			return nil
		}
	}
	return fmt.Errorf("no keys of any issuer: %w", ErrUnavailable)
}

func (s *keySource) status() IssuerStatus {
	status := IssuerStatus{Issuer: s.issuer.URL, Err: s.lastError()}
	if set := s.current.Load(); set != nil {
		status.Fetched = set.fetched
		if time.Since(set.fetched) <= maxStale {
			status.Keys = set.count
		}
	}
	return status
}
