//go:build !unix

package localpg

import (
	"context"
	"fmt"
)

// startLocal has no way here to tie a server's life to ours; Docker has.
func startLocal(context.Context, Options) (*Server, error) {
	return nil, fmt.Errorf("PostgreSQL binaries on this operating system: %w", errAbsent)
}
