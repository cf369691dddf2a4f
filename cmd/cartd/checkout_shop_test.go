package main

import (
	"fmt"
	"maps"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
)

// A shop is a site where people buy. At the end of every test it looks for
// secrets in everything its replicas have printed.
type shop struct {
	*site
	sql   *pgx.Conn      // the test's own way to the database
	stock map[string]int // of the products that the test made, before the first sale

	mu      sync.Mutex
	secrets map[string]string // by text: what it is
}

// The price is such that a sum in a log could be nothing else than what was sold.
const (
	goodsName  = "Gilded hourglass"
	goodsPrice = 987654321
)

// newShop makes a shop without replicas.
func newShop(t testing.TB) *shop {
	t.Helper()
	s := &shop{site: newSite(t, 1), stock: map[string]int{}, secrets: map[string]string{}}
	// The answers to questions, and what is shown and sealed with them.
	for _, text := range []string{goodsName, "Please confirm", "inputResponses", `"shipping"`, "total_minor"} {
		s.secrets[text] = "a question or an answer"
	}
	for quantity := range 10 {
		total := quantity*goodsPrice + 490
		s.secrets[fmt.Sprint(total)] = "what was confirmed"
	}
	delete(s.secrets, "490")
	s.env["SHUTDOWN_DELAY"] = "0s" // nobody routes to these replicas
	s.sql = s.connect(t)
	s.do(t, "SET statement_timeout = '30s'") // a test that locks itself out says so
	// Cleanups run in reverse: this one after the last replica has ended.
	t.Cleanup(func() { s.keepsSecrets(t) })
	return s
}

// open starts a replica that ends in peace, so that its last lines are there.
func (s *shop) open(t testing.TB, changes map[string]string) *replica {
	t.Helper()
	r := s.launch(t, changes)
	t.Cleanup(func() {
		if r.running() {
			r.stop(t)
		}
	})
	r.waitReady(t)
	return r
}

// openWith starts replicas with this many connections each, all of them made
// before anything is asked: what then comes at once also waits at once.
func (s *shop) openWith(t testing.TB, replicas, conns int) []*replica {
	t.Helper()
	db := fmt.Sprintf("%s&pool_max_conns=%d&pool_min_conns=%d", s.db, conns, conns)
	var all []*replica
	for range replicas {
		all = append(all, s.open(t, map[string]string{"DATABASE_URL": db}))
	}
	eventually(t, "the replicas have their connections", func() bool {
		return s.count(t, `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND application_name = 'mcp-cart'`) == replicas*conns
	})
	return all
}

// count returns the one number that SQL selects.
func (s *shop) count(t testing.TB, sql string, args ...any) (n int) {
	t.Helper()
	if err := s.sql.QueryRow(t.Context(), sql, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return n
}

// do runs SQL behind the replicas' backs.
func (s *shop) do(t testing.TB, sql string, args ...any) {
	t.Helper()
	if _, err := s.sql.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// sell puts a product into the catalogue.
func (s *shop) sell(t testing.TB, sku string, stock int) {
	t.Helper()
	s.do(t, `INSERT INTO products VALUES ($1, $2, $3, 'EUR', $4)`, sku, goodsName, goodsPrice, stock)
	s.stock[sku] = stock
}

// booksSQL counts what has to be the same number: orders, flows that were redeemed
// for one, carts that became one, and orders of which all three name each other.
const booksSQL = `SELECT
	(SELECT count(*) FROM orders),
	(SELECT count(*) FROM redemptions WHERE outcome = 'ordered'),
	(SELECT count(*) FROM carts WHERE status = 'ordered'),
	(SELECT count(*) FROM orders o
		JOIN redemptions r ON r.user_id = o.user_id AND r.ref = o.order_id AND r.outcome = 'ordered'
		JOIN carts c ON c.user_id = o.user_id AND c.handle = o.cart_handle AND c.order_id = o.order_id)`

const soldSQL = `SELECT coalesce(sum((l ->> 'quantity')::int), 0) FROM orders, jsonb_array_elements(lines) l WHERE l ->> 'sku' = $1`

// wantOrders fails the test unless there are so many orders, nothing is half
// done, and the stock that is missing is what was sold.
func (s *shop) wantOrders(t testing.TB, want int) {
	t.Helper()
	var orders, redeemed, carts, whole int
	if err := s.sql.QueryRow(t.Context(), booksSQL).Scan(&orders, &redeemed, &carts, &whole); err != nil {
		t.Fatal(err)
	}
	if orders != want || redeemed != want || carts != want || whole != want {
		t.Errorf("%d orders, %d redemptions, %d ordered carts, %d orders with both; want %d of each", orders, redeemed, carts, whole, want)
	}
	for sku, before := range s.stock {
		stock, sold := s.count(t, `SELECT stock FROM products WHERE sku = $1`, sku), s.count(t, soldSQL, sku)
		if stock != before-sold {
			t.Errorf("stock of %s = %d, want %d: %d were there and %d are in orders", sku, stock, before-sold, before, sold)
		}
	}
}

// secret remembers a text that no log may hold.
func (s *shop) secret(what string, texts ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, text := range texts {
		s.secrets[text] = what
	}
}

// customer returns a token of the subject.
func (s *shop) customer(subject string) string {
	token := s.token(subject)
	s.secret("a token", strings.Split(token, ".")[1:]...)
	return token
}

// handleForm is how handles look when they are whole. In a log they are not.
var handleForm = regexp.MustCompile(`(cart|ord|stx)_[0-9a-hjkmnp-tv-z]{30}|rs1\.[A-Za-z0-9_-]{20}`)

func (s *shop) keepsSecrets(t testing.TB) {
	t.Helper()
	s.mu.Lock()
	secrets := maps.Clone(s.secrets)
	s.mu.Unlock()
	for i, r := range s.replicas {
		log := r.out.String()
		if !strings.Contains(log, `"msg":"listening"`) {
			t.Errorf("replica %d has no log", i)
		}
		if found := handleForm.FindString(log); found != "" {
			t.Errorf("the log of replica %d holds %s…", i, found[:8])
		}
		for text, what := range secrets {
			if strings.Contains(log, text) {
				t.Errorf("the log of replica %d holds %s", i, what)
			}
		}
	}
}
