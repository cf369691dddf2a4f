package main

import (
	"context"
	"fmt"

	"example.com/mcp-cart/store"
)

// migrate brings the schema up to date. Several replicas may do it at once: one
// does, the others wait. The server itself never changes the schema, so its
// database role needs no right to.
func migrate(ctx context.Context, cfg database) error {
	applied, err := store.Migrate(ctx, cfg.URL)
	if err != nil {
		return err
	}
	fmt.Printf("cartd: schema is up to date, %d migrations applied\n", len(applied))
	return nil
}
