package main

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// poolSize is how many calls of one replica can be in the database at once, at
// the least: what pgxpool opens without pool_max_conns.
const poolSize = 4

func TestCartMovesBetweenReplicasAndOutlivesThem(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	one, two := s.replica(t), s.replica(t)

	made := must[cart](t, one.as(t, "alice"), "cart_create", nil)
	filled := must[cart](t, two.as(t, "alice"), "cart_set_item", setItem(made.CartID, "MUG-BLUE", 2))
	want := []line{{"MUG-BLUE", 2}}
	if !slices.Equal(filled.Lines, want) || filled.TotalMinor != 2980 || filled.Version != made.Version+1 {
		t.Errorf("cart_set_item on the other replica = %+v, want 2 MUG-BLUE for 2980, version %d", filled, made.Version+1)
	}

	one, two = one.restart(t), two.restart(t)
	for _, r := range []*replica{one, two} {
		list := must[carts](t, r.as(t, "alice"), "cart_list", nil)
		if diff := cmp.Diff([]cart{filled}, list.Carts); diff != "" {
			t.Errorf("cart_list after both were restarted (-want +got):\n%s", diff)
		}
	}
}

func TestParallelWritesLoseNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	s.exec(t, `INSERT INTO products SELECT 'ITEM-' || lpad(n::text, 3, '0'), 'Item', 100, 'EUR', 1 FROM generate_series(0, 99) n`)
	sessions := []*mcp.ClientSession{s.replica(t).as(t, "alice"), s.replica(t).as(t, "alice")}
	made := must[cart](t, sessions[0], "cart_create", nil)

	const calls = 100
	var want []line
	versions := make([]int, calls)
	lock := s.holdCart(t, made.CartID)
	var running sync.WaitGroup
	for i := range calls {
		item := line{fmt.Sprintf("ITEM-%03d", i), i + 1}
		want = append(want, item)
		running.Go(func() {
			after, failed := ask[cart](t, sessions[i%2], "cart_set_item", setItem(made.CartID, item.SKU, item.Quantity))
			if failed != "" || !slices.Contains(after.Lines, item) {
				t.Errorf("cart_set_item %v = %+v, %q, want a cart with it", item, after, failed)
			}
			versions[i] = after.Version
		})
	}
	lock.waitFor(t, 2*poolSize)
	lock.release(t)
	running.Wait()

	end := must[cart](t, sessions[1], "cart_get", args{"cart_id": made.CartID})
	if diff := cmp.Diff(want, end.Lines); diff != "" || end.Version != made.Version+calls {
		t.Errorf("cart after %d writes has version %d, want %d, lines (-want +got):\n%s", calls, end.Version, made.Version+calls, diff)
	}
	slices.Sort(versions)
	for i, version := range versions {
		if version != made.Version+1+i {
			t.Fatalf("versions answered = %v, want each from %d to %d once", versions, made.Version+1, made.Version+calls)
		}
	}
}

func TestParallelCreatesStopAtTheQuota(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	sessions := []*mcp.ClientSession{s.replica(t).as(t, "alice"), s.replica(t).as(t, "alice")}

	const quota, calls = 20, 20
	for range quota - 1 {
		must[cart](t, sessions[0], "cart_create", nil)
	}
	// Every insert now waits after it has counted the carts there are.
	s.exec(t, `CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN PERFORM pg_advisory_xact_lock_shared(1, 1); RETURN new; END $$`)
	s.exec(t, `CREATE TRIGGER wait BEFORE INSERT ON carts FOR EACH ROW EXECUTE FUNCTION wait()`)
	lock := s.hold(t, "SELECT pg_advisory_xact_lock(1, 1)")
	failures := make([]string, calls)
	var running sync.WaitGroup
	for i := range calls {
		running.Go(func() { _, failures[i] = ask[cart](t, sessions[i%2], "cart_create", nil) })
	}
	lock.waitFor(t, 2*poolSize)
	lock.release(t)
	running.Wait()

	count := map[string]int{}
	for _, failed := range failures {
		count[failed]++
	}
	const full = "you have as many open carts as one user may have: use one of cart_list, or free one with cart_discard"
	if diff := cmp.Diff(map[string]int{"": 1, full: calls - 1}, count); diff != "" {
		t.Errorf("answers of %d cart_create at once, with one cart to go (-want +got):\n%s", calls, diff)
	}
	if stored := query[int](t, s, "SELECT count(*) FROM carts"); stored != quota {
		t.Errorf("carts stored = %d, want %d", stored, quota)
	}
	// Somebody else's quota is their own.
	must[cart](t, s.replicas[0].as(t, "bob"), "cart_create", nil)
}
