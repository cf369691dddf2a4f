package store_test

import (
	"context"
	"fmt"
	"testing"

	"example.com/mcp-cart/handles"
	"example.com/mcp-cart/store"
)

// benchCart is a cart of five lines in a migrated database.
func benchCart(b *testing.B) (*store.Postgres, handles.Key) {
	b.Helper()
	url := postgres.Database(b)
	if _, err := store.Migrate(b.Context(), url); err != nil {
		b.Fatal(err)
	}
	p, err := store.Open(context.Background(), url)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(p.Close)
	key := handles.NewKey([16]byte{1}, handles.Mint(handles.Cart))
	if _, err := p.CreateCart(b.Context(), key); err != nil {
		b.Fatal(err)
	}
	page, err := p.SearchProducts(b.Context(), "", "", 5)
	if err != nil {
		b.Fatal(err)
	}
	for _, product := range page.Products {
		if _, err := p.SetItem(b.Context(), key, product.SKU, 1); err != nil {
			b.Fatal(err)
		}
	}
	return p, key
}

func BenchmarkCart(b *testing.B) {
	p, key := benchCart(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Cart(b.Context(), key); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSetItem(b *testing.B) {
	p, key := benchCart(b)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		n++
		if _, err := p.SetItem(b.Context(), key, "MUG-BLUE", 1+n%store.MaxQuantity); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCreateCart(b *testing.B) {
	p, _ := benchCart(b)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		n++
		key := handles.NewKey([16]byte([]byte(fmt.Sprintf("%016d", n))), handles.Mint(handles.Cart))
		if _, err := p.CreateCart(b.Context(), key); err != nil {
			b.Fatal(err)
		}
	}
}
