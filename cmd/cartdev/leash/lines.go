//go:build unix

package leash

import (
	"bytes"
	"io"
	"sync"
)

// maxLine bounds what is kept of a line that never ends.
const maxLine = 64 << 10

// Lines returns a writer that calls emit, one call at a time, with each line
// that is written to it, without its end. A last line without an end is dropped.
func Lines(emit func(line string)) io.Writer {
	return &lines{emit: emit}
}

type lines struct {
	mu      sync.Mutex
	emit    func(string)
	partial []byte
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(p)
	for {
		head, tail, found := bytes.Cut(p, []byte{'\n'})
		if room := maxLine - len(l.partial); len(head) > room {
			head = head[:room]
		}
		l.partial = append(l.partial, head...)
		if !found {
			return n, nil
		}
		l.emit(string(l.partial))
		l.partial, p = l.partial[:0], tail
	}
}
