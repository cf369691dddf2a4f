package auth

import (
	"slices"
	"strings"
)

// Scopes is the set of scopes that a token grants. The zero value grants nothing.
type Scopes struct{ sorted []string }

// ParseScopes reads a space-separated list (RFC 6749 section 3.3). A word that
// cannot be a scope grants nothing and is left out. Only a space separates: a
// tab or another blank must not turn one odd scope into two good ones.
func ParseScopes(list string) Scopes {
	words := strings.FieldsFunc(list, func(r rune) bool { return r == ' ' })
	words = slices.DeleteFunc(words, func(word string) bool { return !isScope(word) })
	slices.Sort(words)
	return Scopes{sorted: slices.Compact(words)}
}

// Has says whether the scope is granted, itself or by a broader one.
func (s Scopes) Has(scope string) bool {
	return s.contains(scope) || s.contains(broader(scope))
}

// Missing lists which of these scopes are not granted, in their order.
func (s Scopes) Missing(required ...string) []string {
	var missing []string
	for _, scope := range required {
		if !s.Has(scope) {
			missing = append(missing, scope)
		}
	}
	return missing
}

// String is the set as a token would say it, sorted.
func (s Scopes) String() string { return strings.Join(s.sorted, " ") }

// Equal says whether both sets are written with the same scopes.
func (s Scopes) Equal(other Scopes) bool { return slices.Equal(s.sorted, other.sorted) }

func (s Scopes) contains(scope string) bool {
	_, found := slices.BinarySearch(s.sorted, scope)
	return found
}

// broader names the scope that implies this one, or "". This is the whole
// hierarchy. What spends money or changes stock is left out on purpose: it is
// granted by its own name or not at all.
func broader(scope string) string {
	switch scope {
	case "cart:read", "cart:write":
		return "cart"
	default:
		return ""
	}
}

// isScope knows the scope-token of RFC 6749: visible ASCII without " and \, so
// that a scope can stand in a quoted header parameter as it is.
func isScope(word string) bool {
	for _, c := range []byte(word) {
		if c <= ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return word != ""
}
