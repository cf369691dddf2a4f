package server

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"example.com/mcp-cart/auth/authtest"
)

func BenchmarkSetItem(b *testing.B) {
	sh := newShop(b)
	alice := sh.as(b, "alice")
	cart := mustCall[cartView](b, alice, "cart_create", nil)
	sku := mustCall[productsView](b, alice, "product_search", nil).Products[0].SKU
	body := callBody("cart_set_item", `{"cart_id":"`+cart.CartID+`","sku":"`+sku+`","quantity":2}`)
	token := sh.issuer.Token(authtest.Scope(allScopes))
	h, _ := sh.Handler()
	b.ReportAllocs()
	for b.Loop() {
		req := httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader(body))
		req.Host = "localhost"
		for k, v := range map[string]string{"Content-Type": "application/json", "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "cart_set_item", "Authorization": "Bearer " + token} {
			req.Header.Set(k, v)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, req)
		if w.Code != 200 || strings.Contains(w.Body.String(), "isError") {
			b.Fatal(w.Code, w.Body.String())
		}
	}
}
