package pgtest_test

import (
	"os"
	"testing"

	"github.com/jackc/pgx/v5"

	"example.com/mcp-cart/cmd/cartdev/localpg/pgtest"
)

var server pgtest.Server

func TestMain(m *testing.M) { os.Exit(server.Main(m)) }

func TestEveryTestHasItsOwnDatabase(t *testing.T) {
	var first string
	t.Run("it is empty", func(t *testing.T) {
		first = server.Database(t)
		if second := server.Database(t); second == first {
			t.Fatal("Database gave the same database twice")
		}
		conn, err := pgx.Connect(t.Context(), first)
		if err != nil {
			t.Fatalf("connect: %v", err)
		}
		defer conn.Close(t.Context())
		if _, err := conn.Exec(t.Context(), "CREATE TABLE mine (id int)"); err != nil {
			t.Errorf("create a table: %v", err)
		}
	})
	t.Run("it is gone afterwards", func(t *testing.T) {
		conn, err := pgx.Connect(t.Context(), first)
		if err == nil {
			conn.Close(t.Context())
			t.Error("connect to an ended test's database = ok, want refused")
		}
	})
}
