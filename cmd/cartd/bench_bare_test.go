package main

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"time"

	"example.com/mcp-cart/auth"
	"example.com/mcp-cart/handles"
	"example.com/mcp-cart/store"
)

// A bareHandler is what one would write for these two calls alone: no gate, no
// SDK, no log, no metrics. It verifies the token, reads the arguments, runs the
// store method and answers the same JSON.
type bareHandler struct{ s *stand }

type bareRequest struct {
	ID     json.RawMessage `json:"id"`
	Params struct {
		Name      string `json:"name"`
		Arguments struct {
			CartID   string `json:"cart_id"`
			SKU      string `json:"sku"`
			Quantity int    `json:"quantity"`
		} `json:"arguments"`
	} `json:"params"`
}

func (h bareHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token, err := auth.BearerToken(r.Header)
	if err != nil {
		http.Error(w, "unauthorized", http.StatusUnauthorized)
		return
	}
	who, err := h.s.verifier.Verify(r.Context(), token)
	if err != nil {
		http.Error(w, "unauthorized", http.StatusUnauthorized)
		return
	}
	var req bareRequest
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, &req)
	}
	handle, malformed := handles.Parse(handles.Cart, req.Params.Arguments.CartID)
	if err != nil || malformed != nil {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	key, a := handles.NewKey(who.UserID(), handle), req.Params.Arguments
	var found store.Cart
	if req.Params.Name == "cart_set_item" {
		found, err = h.s.store.SetItem(r.Context(), key, a.SKU, a.Quantity)
	} else {
		found, err = h.s.store.Cart(r.Context(), key)
	}
	if err == nil {
		err = answerBare(w, req.ID, found)
	}
	if err != nil {
		http.Error(w, "internal error", http.StatusInternalServerError)
	}
}

type bareLine struct {
	SKU            string `json:"sku"`
	Name           string `json:"name"`
	Quantity       int    `json:"quantity"`
	UnitPriceMinor int64  `json:"unit_price_minor"`
	LineTotalMinor int64  `json:"line_total_minor"`
}

type bareCart struct {
	CartID     string       `json:"cart_id"`
	Status     store.Status `json:"status"`
	Version    int64        `json:"version"`
	Lines      []bareLine   `json:"lines"`
	TotalMinor int64        `json:"total_minor"`
	Currency   string       `json:"currency,omitempty"`
	ExpiresAt  time.Time    `json:"expires_at"`
}

// bareMeta is constant for a server.
var bareMeta = json.RawMessage(`{"io.modelcontextprotocol/serverInfo":{"name":"mcp-cart","title":"mcp-cart","version":"bench"}}`)

func answerBare(w http.ResponseWriter, id json.RawMessage, c store.Cart) error {
	view := bareCart{c.Handle.Reveal(), c.Status, c.Version, nil, c.TotalMinor, c.Currency, c.ExpiresAt.UTC()}
	for _, l := range c.Lines {
		view.Lines = append(view.Lines, bareLine{l.SKU, l.Name, l.Quantity, l.UnitPriceMinor, l.LineTotalMinor()})
	}
	text, err := json.Marshal(view)
	if err != nil {
		return err
	}
	type content struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	type result struct {
		Meta              json.RawMessage `json:"_meta"`
		ResultType        string          `json:"resultType"`
		Content           []content       `json:"content"`
		StructuredContent json.RawMessage `json:"structuredContent"`
	}
	body, err := json.Marshal(struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  result          `json:"result"`
	}{"2.0", id, result{bareMeta, "complete", []content{{"text", string(text)}}, text}})
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, err = w.Write(body)
	return err
}
