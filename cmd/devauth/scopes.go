package main

import (
	"slices"
	"strings"
)

// scopeTable lists the scopes this server grants, with the words the consent
// page uses for them.
var scopeTable = []struct{ name, words string }{
	{"catalog:read", "Search the product catalogue"},
	{"cart", "See and change your carts"},
	{"cart:read", "See your carts"},
	{"cart:write", "Change your carts"},
	{"order:read", "See your orders"},
	{"order:place", "Place orders for you"},
}

// defaultScope is granted to a request that names none, as some clients do.
const defaultScope = "catalog:read cart order:read"

func scopeNames() []string {
	var names []string
	for _, s := range scopeTable {
		names = append(names, s.name)
	}
	return names
}

// parseScope returns the scopes that text asks for, each once. A scope we do
// not know refuses the whole request rather than being dropped in silence.
func parseScope(text string) ([]string, error) {
	names := strings.Fields(text)
	if len(names) == 0 {
		names = strings.Fields(defaultScope)
	}
	var scopes []string
	for _, name := range names {
		if !slices.Contains(scopeNames(), name) {
			return nil, &oauthError{"invalid_scope", "unknown scope; this server knows " + strings.Join(scopeNames(), " ")}
		}
		if !slices.Contains(scopes, name) {
			scopes = append(scopes, name)
		}
	}
	return scopes, nil
}

// scopeWords says what the scopes allow, in the table's order.
func scopeWords(scopes []string) []string {
	var words []string
	for _, s := range scopeTable {
		if slices.Contains(scopes, s.name) {
			words = append(words, s.words)
		}
	}
	return words
}
