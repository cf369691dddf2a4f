// Package migrations holds the schema as numbered SQL files, embedded into the
// binary, each opening with the reason it exists.
//
// The laws:
//
//   - A file that has been released is never edited; a change is a new file.
//   - There is no way down. A release is undone by a further migration, and each
//     one keeps the previous release of the server working, because replicas of
//     both run side by side while a new release rolls out.
//   - Every key of a table that belongs to users starts with user_id, so the data
//     can be sharded by user without a change to any statement.
//   - Times are timestamptz and come from the database's clock. Intervals are in
//     hours: a day is 23 or 25 of them where the database's time zone says so.
package migrations

import (
	"embed"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

// FS holds the .sql files.
//
//go:embed *.sql
var FS embed.FS

// Latest returns the version of the newest migration: the number its file name
// starts with. It is what a server compares the database with.
func Latest() (int64, error) {
	files, err := fs.Glob(FS, "*.sql")
	if err != nil {
		return 0, fmt.Errorf("list migrations: %w", err)
	}
	var latest int64
	for _, file := range files {
		number, _, _ := strings.Cut(file, "_")
		version, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("migration %s has no number: %w", file, err)
		}
		latest = max(latest, version)
	}
	return latest, nil
}
