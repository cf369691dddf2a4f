package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/mcp-cart/migrations"
)

func TestReplicasMigrateAtTheSameTime(t *testing.T) {
	t.Parallel()
	s := newEmptySite(t, 1)
	var all []*process
	for range 4 {
		all = append(all, start(t, map[string]string{"DATABASE_URL": s.db}, "migrate"))
	}
	for i, p := range all {
		if code := p.exit(t); code != 0 {
			t.Errorf("cartd migrate %d of 4 = exit %d, want 0:\n%s", i+1, code, p.out)
		}
	}
	latest, err := migrations.Latest()
	if err != nil {
		t.Fatal(err)
	}
	var want []int64
	for version := range latest {
		want = append(want, version+1)
	}
	applied := query[[]int64](t, s, "SELECT array_agg(version_id ORDER BY version_id, id) FROM goose_db_version WHERE version_id > 0 AND is_applied")
	if diff := cmp.Diff(want, applied); diff != "" {
		t.Errorf("migrations applied (-want +got):\n%s", diff)
	}
	made := must[cart](t, s.replica(t).as(t, "alice"), "cart_create", nil)
	must[cart](t, s.replicas[0].as(t, "alice"), "cart_set_item", setItem(made.CartID, "MUG-BLUE", 1))
}

func TestMigratingAgainChangesNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	s.exec(t, "DELETE FROM products WHERE sku = 'MUG-BLUE'")
	p := start(t, map[string]string{"DATABASE_URL": s.db}, "migrate")
	if code := p.exit(t); code != 0 || !strings.Contains(p.out.String(), "up to date, 0 migrations applied") {
		t.Errorf("cartd migrate = exit %d, %s, want 0 migrations applied", code, p.out)
	}
	if n := query[int](t, s, "SELECT count(*) FROM products WHERE sku = 'MUG-BLUE'"); n != 0 {
		t.Error("cartd migrate brought back a product that the operator had deleted")
	}
}
