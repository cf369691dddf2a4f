package server

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"time"

	"example.com/mcp-cart/auth/authtest"
)

// Patterns of what later messages of a story repeat.
const (
	aCart  = `cart_[0-9a-z]{30}`
	anOrd  = `ord_[0-9a-z]{30}`
	aState = `rs1\.[\w-]+`
)

// stories are told in four chapters.
func stories() map[string]story {
	all := map[string]story{}
	for _, chapter := range []map[string]story{shoppingStories(), checkoutStories(), refusalStories(), otherStories()} {
		maps.Copy(all, chapter)
	}
	return all
}

func shoppingStories() map[string]story {
	return map[string]story{
		"discover": {about: "A client asks what the server is and speaks.", play: func(w *wire) {
			w.post("discover", w.token("alice", "cart"), newPost(modern, "server/discover", "", ""))
		}},
		"tools-list": {about: "A token with every scope sees every tool.", play: func(w *wire) {
			w.post("list tools", w.token("alice", allScopes), newPost(modern, "tools/list", "", ""))
		}},
		"tools-list-filtered": {about: "A token sees the tools that it allows, and no others.", play: func(w *wire) {
			w.post("list tools", w.token("alice", "cart:read"), newPost(modern, "tools/list", "", ""))
			w.post("list tools without a scope", w.token("alice", ""), newPost(modern, "tools/list", "", ""))
			w.post("list tools from nowhere", w.token("alice", ""), newPost(modern, "tools/list", "", `"cursor":"x"`))
		}},
		"cart": {about: "A cart's whole life.", play: aCartsLife},
		"tool-errors": {about: "What a tool cannot do, it explains to the model.", play: func(w *wire) {
			token := w.token("alice", "cart")
			w.call("no arguments", token, "cart_get", `{}`)
			w.call("an argument too many", token, "cart_create", `{"user":"bob"}`)
			w.call("a handle that was made up", token, "cart_get", `{"cart_id":"cart_1"}`)
			cart := first(w, aCart, w.call("make a cart", token, "cart_create", `{}`).body)
			w.call("a handle of somebody else", w.token("bob", "cart"), "cart_get", cartJSON(cart))
			w.call("a product that is not sold", token, "cart_set_item", `{"cart_id":"`+cart+`","sku":"NOTHING","quantity":1}`)
		}},
	}
}

func aCartsLife(w *wire) {
	token := w.token("alice", "catalog:read cart")
	w.call("find products", token, "product_search", `{"query":"mug"}`)
	cart := first(w, aCart, w.call("make a cart", token, "cart_create", `{}`).body)
	item := func(sku string, quantity int) string {
		return fmt.Sprintf(`{"cart_id":%q,"sku":%q,"quantity":%d}`, cart, sku, quantity)
	}
	w.call("put two mugs into it", token, "cart_set_item", item("MUG-BLUE", 2))
	w.call("and a fern", token, "cart_set_item", item("PLANT-FERN", 1))
	w.call("no mugs after all", token, "cart_set_item", item("MUG-BLUE", 0))
	w.call("read it", token, "cart_get", cartJSON(cart))
	w.call("find it among the carts", token, "cart_list", `{}`)
	w.call("throw it away", token, "cart_discard", cartJSON(cart))
	w.call("read it again", token, "cart_get", cartJSON(cart))
}

func checkoutStories() map[string]story {
	return map[string]story{
		"checkout": {about: "A cart is bought in three rounds.", play: func(w *wire) {
			b := newBuying(w)
			shipping := b.round("begin", "", "")
			confirm := b.round("choose the shipping", shipping, pickStandard)
			order := first(w, anOrd, b.rounds("confirm", confirm, sayYes).body)
			w.call("read the order", b.token, "order_get", `{"order_id":"`+order+`"}`)
			b.rounds("buy it again", "", "")
		}},
		"checkout-asks-again": {about: "An answer that is none, or a cart that changed, is asked about again.", play: func(w *wire) {
			b := newBuying(w)
			shipping := b.round("begin", "", "")
			confirm := b.round("choose the shipping", b.round("choose what is not offered", shipping, `{"shipping":{"action":"accept","content":{"shipping":"free"}}}`), pickStandard)
			w.call("change the cart", b.token, "cart_set_item", `{"cart_id":"`+b.cart+`","sku":"MUG-BLUE","quantity":3}`)
			b.rounds("confirm what was shown", confirm, sayYes)
		}},
		"checkout-declined": {about: "A no is final; closing the question is not.", play: func(w *wire) {
			b := newBuying(w)
			confirm := b.round("choose the shipping", b.round("begin", "", ""), pickStandard)
			b.rounds("close the question", confirm, `{"confirm":{"action":"cancel"}}`)
			b.rounds("say no", confirm, `{"confirm":{"action":"decline"}}`)
			b.rounds("say yes after all", confirm, sayYes)
		}},
		"state-bad": {about: "A state that was changed, or is somebody else's, opens nothing.", play: func(w *wire) {
			b := newBuying(w)
			state := b.round("begin", "", "")
			b.rounds("with more at its end", state+"A", pickStandard)
			b.rounds("empty", "", pickStandard, `"requestState":""`)
			bob := *b
			bob.token = w.token("bob", allScopes)
			bob.rounds("by another user", state, pickStandard)
		}},
		"state-spent": {about: "A state that was redeemed says what came of it.", play: func(w *wire) {
			b := newBuying(w)
			confirm := b.round("choose the shipping", b.round("begin", "", ""), pickStandard)
			b.rounds("confirm", confirm, sayYes)
			b.rounds("confirm again", confirm, sayYes)
		}},
		"capability-missing": {about: "A client that cannot show a form is told what it needs.", play: func(w *wire) {
			b := newBuying(w)
			p := newPost(modern, "tools/call", "checkout", `"name":"checkout","arguments":`+cartJSON(b.cart))
			w.post("begin", b.token, p.replace(w.T, `{"elicitation":{"form":{}}}`, `{}`))
		}},
	}
}

// A buying is a cart in the middle of a checkout.
type buying struct {
	*wire
	token, cart string
}

func newBuying(w *wire) *buying {
	b := &buying{wire: w, token: w.token("alice", allScopes)}
	b.cart = first(w, aCart, w.call("make a cart", b.token, "cart_create", `{}`).body)
	w.call("put two mugs into it", b.token, "cart_set_item", `{"cart_id":"`+b.cart+`","sku":"MUG-BLUE","quantity":2}`)
	return b
}

// rounds makes a round, whatever comes of it.
func (b *buying) rounds(about, state, answers string, more ...string) reply {
	members := `"name":"checkout","arguments":` + cartJSON(b.cart)
	if state != "" {
		members += `,"requestState":"` + state + `"`
	}
	if answers != "" {
		members += `,"inputResponses":` + answers
	}
	members = strings.Join(append([]string{members}, more...), ",")
	return b.post(about, b.token, newPost(modern, "tools/call", "checkout", members))
}

// round makes a round that ends in a question, and returns the state of it.
func (b *buying) round(about, state, answers string) string {
	return first(b, aState, b.rounds(about, state, answers).body)
}

func refusalStories() map[string]story {
	list := newPost(modern, "tools/list", "", "")
	type attempt struct {
		about string
		post
	}
	refused := func(about string, attempts ...attempt) story {
		return story{about: about, play: func(w *wire) {
			for _, a := range attempts {
				w.post(a.about, w.token("alice", "cart"), a.post)
			}
		}}
	}
	return map[string]story{
		"token-missing": {about: "Without a token a client is told where to get one.", play: func(w *wire) {
			w.post("list tools", "", list)
		}},
		"token-bad": {about: "With a bad one it is told that, too.", play: func(w *wire) {
			w.post("expired", w.token("alice", "cart", authtest.ExpiresIn(-time.Hour)), list)
			w.post("no token at all", "x", list)
		}},
		"scope-insufficient": {about: "A call is told all the scopes it needs at once.", play: func(w *wire) {
			w.call("buy with a token for carts", w.token("alice", "cart"), "checkout", `{}`)
		}},
		"tool-unknown": refused("A tool that is not there is a mistake in the parameters.",
			attempt{"call no tool", newPost(modern, "tools/call", "cart_steal", `"name":"cart_steal"`)}),
		"method-unknown": refused("A method that is not there is not found.",
			attempt{"list resources", newPost(modern, "resources/list", "", "")}),
		"header-mismatch": refused("Headers say what the body says, once.",
			attempt{"another Mcp-Name", toolCall(modern).set("Mcp-Name", "cart_discard")},
			attempt{"no Mcp-Method", toolCall(modern).set("Mcp-Method")},
			attempt{"another version", toolCall(modern).set("MCP-Protocol-Version", "2025-11-25")}),
		"meta-missing": refused("A request says in _meta what version it is of.",
			attempt{"no _meta", post{list.header, `{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{}}`}}),
		"version-unsupported": refused("A client of another revision is told which are served.",
			attempt{"1900-01-01", post{list.set("MCP-Protocol-Version", "1900-01-01").header, strings.ReplaceAll(list.body, versionModern, "1900-01-01")}}),
		"json-bad": refused("What is not JSON cannot be read, nor its id.",
			attempt{"cut off", post{list.header, list.body[:len(list.body)-1]}}, attempt{"nothing", post{list.header, ""}}),
		"batch": refused("One message at a time.", attempt{"a batch of one", post{list.header, "[" + list.body + "]"}}),
		"body-too-large": refused("A body over the limit is read, and refused.",
			attempt{"white space", post{list.header, strings.Repeat(" ", maxBody+1)}}),
		"media-type": refused("Messages are JSON as it is.",
			attempt{"text", list.set("Content-Type", "text/plain")}, attempt{"compressed, it says", list.set("Content-Encoding", "gzip")}),
		"rate-limit": {about: "Who calls too often is told to wait.", shop: []shopOption{func(c *Config) { c.RateLimit = 1 }}, play: func(w *wire) {
			token := w.token("alice", "cart")
			for range 30 { // a new window may begin on the way
				if send(w, messageTo(w.T, w.sh, token, list)).status == http.StatusTooManyRequests {
					break
				}
			}
			w.post("once more", token, list)
		}},
	}
}

func otherStories() map[string]story {
	pages := []shopOption{func(c *Config) { c.AllowedOrigins = []string{"https://app.example"} }}
	return map[string]story{
		"notification": {about: "A notification is accepted and does nothing.", play: func(w *wire) {
			cancel := post{http.Header{}, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`}
			w.post("cancelled", w.token("alice", "cart"), cancel)
			w.post("a call without an id", w.token("alice", "cart"), toolCall(modern).replace(w.T, `"id":7,`, ``))
		}},
		"handshake": {about: "A client of 2025-11-25 fills a cart, and is told why it cannot buy it.", play: theHandshakeEra},
		"handshake-refused": {about: "Where that era is not served, its clients are told what is.", shop: []shopOption{func(c *Config) { c.ModernOnly = true }}, play: func(w *wire) {
			w.post("initialize", w.token("alice", "cart"), opening())
		}},
		"progress": {about: "A tool that tells how far it is answers with an event stream.", tools: []tool{tellsProgress()}, play: func(w *wire) {
			p := newPost(modern, "tools/call", "tells_progress", `"name":"tells_progress"`).replace(w.T, `"_meta":{`, `"_meta":{"progressToken":"p1",`)
			w.post("with a progress token", w.token("alice", "cart"), p)
		}},
		"internal-error": {about: "What goes wrong inside stays inside; the client gets an id to ask about.", tools: []tool{brokenTool()}, play: func(w *wire) {
			w.call("fail", w.token("alice", "cart"), "breaks", `{}`)
		}},
		"metadata": {about: "Anybody may read who gives tokens.", play: func(w *wire) {
			w.plain("where the resource is", http.MethodGet, "/.well-known/oauth-protected-resource/mcp", nil)
			w.plain("at the root", http.MethodGet, "/.well-known/oauth-protected-resource", nil)
		}},
		"preflight": {about: "A page of a listed origin may call, and read what it is told.", shop: pages, play: func(w *wire) {
			w.plain("preflight", http.MethodOptions, "/mcp", http.Header{
				"Origin": {"https://app.example"}, "Access-Control-Request-Method": {"POST"},
				"Access-Control-Request-Headers": {"authorization,content-type,mcp-method,mcp-protocol-version"},
			})
			w.plain("without a token", http.MethodPost, "/mcp", http.Header{"Origin": {"https://app.example"}})
			w.plain("from a page of another origin", http.MethodPost, "/mcp", http.Header{"Origin": {"https://evil.example"}})
		}},
		"http-method": {about: "Messages are posted.", play: func(w *wire) {
			w.plain("open a stream", http.MethodGet, "/mcp", nil)
			w.plain("end a session", http.MethodDelete, "/mcp", nil)
		}},
	}
}

// plain sends a request without a body.
func (w *wire) plain(about, method, path string, h http.Header) {
	w.Helper()
	req, err := http.NewRequestWithContext(w.Context(), method, w.sh.url+path, nil)
	if err != nil {
		w.Fatal(err)
	}
	maps.Copy(req.Header, h)
	w.send(about, req, "")
}

func opening() post {
	return newPost(handshake, "initialize", "", `"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"t","version":"0"}`).set("MCP-Protocol-Version")
}

func theHandshakeEra(w *wire) {
	token := w.token("alice", allScopes)
	call := func(about, tool, args string) reply {
		return w.post(about, token, newPost(handshake, "tools/call", "", `"name":"`+tool+`","arguments":`+args))
	}
	w.post("initialize", token, opening())
	w.post("initialized", token, post{http.Header{headerVersion: {versionHandshake}}, `{"jsonrpc":"2.0","method":"notifications/initialized"}`})
	w.post("ping", token, newPost(handshake, "ping", "", ""))
	w.post("list tools", w.token("alice", "catalog:read"), newPost(handshake, "tools/list", "", ""))
	cart := first(w, aCart, call("make a cart", "cart_create", `{}`).body)
	call("put two mugs into it", "cart_set_item", `{"cart_id":"`+cart+`","sku":"MUG-BLUE","quantity":2}`)
	call("try to buy it", "checkout", cartJSON(cart))
	call("the cart is kept", "cart_get", cartJSON(cart))
	w.post("no version", token, newPost(handshake, "tools/list", "", "").set("MCP-Protocol-Version"))
}

func brokenTool() tool {
	return bareTool("breaks", func(context.Context, caller) (any, error) {
		return nil, errors.New(`relation "secret_table" does not exist`)
	})
}
