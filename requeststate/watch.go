package requeststate

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"time"
)

// pollEvery is how often the file is read. Reading is cheap and, unlike change
// notifications, works with symbolic links that are swapped and network mounts.
const pollEvery = 5 * time.Second

// A Load is what came of looking at the key file.
type Load struct {
	Keys []KeyInfo // the keys in force afterwards
	Err  error     // why the file was refused; the ring is then the one before
}

// Watch keeps the ring equal to a file until ctx is done: it reads the file at
// once, every five seconds, and for each value on hup. A file that cannot be read
// or is no valid ring is refused and the ring in force stays, because a replica
// without keys, or with half of them, refuses everybody.
//
// Every change is reported once, and so is every refusal, not every five seconds;
// what hup asks for is always reported. Watch returns nil when ctx ends it.
//
// Replace the file by renaming another one over it. A file that is written in
// place may be read when it is half there, and half a ring can be a valid ring.
func (k *Keys) Watch(ctx context.Context, path string, hup <-chan os.Signal, report func(Load)) error {
	if path == "" || report == nil {
		return errors.New("watch key ring: no path or nobody to report to")
	}
	w := watcher{keys: k, path: path, seen: sighting{sum: k.ring.Load().sum}}
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	asked := false
	for {
		if load, changed := w.look(); changed || asked {
			report(load)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			asked = false
		case _, asked = <-hup:
			if !asked {
				hup = nil // closed: it would be ready for ever
			}
		}
	}
}

type watcher struct {
	keys *Keys
	path string
	seen sighting
}

// sighting is what the file looked like: its content, or why it has none.
type sighting struct {
	sum     digest
	problem string
}

// look reads the file and says what came of it, and whether that is news.
func (w *watcher) look() (Load, bool) {
	text, err := readFile(w.path)
	now := sighting{sum: sha256.Sum256([]byte(text))}
	if err != nil {
		now = sighting{problem: err.Error()}
	}
	changed := now != w.seen
	w.seen = now
	if err == nil {
		err = w.keys.reloadText(text, now.sum)
	}
	if err != nil {
		err = fmt.Errorf("reload %s: %w", w.path, err)
	}
	return Load{Keys: w.keys.IDs(), Err: err}, changed
}

// reloadText compares by content: times and inode numbers lie when files are
// copied, restored or swapped.
func (k *Keys) reloadText(text string, sum digest) error {
	if k.ring.Load().sum == sum {
		return nil
	}
	ring, err := ParseRing(text)
	if err != nil {
		return err
	}
	return k.Reload(ring)
}
