package requeststate

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// watched is a key file with a watcher on it, in fake time.
type watched struct {
	t     *testing.T
	path  string
	keys  *Keys
	hup   chan os.Signal
	loads chan Load
}

// watch runs steps beside a watcher that starts with the old key in file and ring.
func watch(t *testing.T, steps func(*watched)) {
	path := filepath.Join(t.TempDir(), "keys")
	synctest.Test(t, func(t *testing.T) {
		w := &watched{t: t, path: path, hup: make(chan os.Signal), loads: make(chan Load, 8)}
		w.write(ringText(oldKey))
		ring, err := ReadRing(path)
		if err != nil {
			t.Fatalf("ReadRing = %v", err)
		}
		if w.keys, err = NewKeys(ring); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		ended := make(chan error, 1)
		go func() {
			ended <- w.keys.Watch(ctx, path, w.hup, func(l Load) { w.loads <- l })
		}()
		synctest.Wait()
		steps(w)
		stop()
		if err := <-ended; err != nil {
			t.Errorf("Watch = %v after its context ended, want nil", err)
		}
	})
}

func (w *watched) write(text string) {
	w.t.Helper()
	if err := os.WriteFile(w.path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// poll lets one polling interval pass.
func (w *watched) poll() {
	time.Sleep(pollEvery)
	synctest.Wait()
}

// want asserts the minting key, and what was reported since the last time: for
// each report a part of its error, or "" for a ring in force.
func (w *watched) want(mint string, reports ...string) {
	w.t.Helper()
	if got := minting(w.keys.IDs()); got != mint {
		w.t.Errorf("minting key = %s, want %s", got, mint)
	}
	if len(w.loads) != len(reports) {
		w.t.Fatalf("%d reports, want %q", len(w.loads), reports)
	}
	for i, part := range reports {
		load := <-w.loads
		if (load.Err == nil) != (part == "") || load.Err != nil && !strings.Contains(load.Err.Error(), part) {
			w.t.Errorf("report %d = %v, want %q", i, load.Err, part)
		}
		if minting(load.Keys) != mint {
			w.t.Errorf("report %d names %v, want %s to mint", i, load.Keys, mint)
		}
	}
}

func minting(infos []KeyInfo) string {
	for _, k := range infos {
		if k.Mint {
			return k.ID
		}
	}
	return ""
}

func TestUnchangedFileIsNoNews(t *testing.T) {
	watch(t, func(w *watched) {
		w.want("0a0b0c0d")
		w.poll()
		ring := w.keys.ring.Load()
		w.write(ringText(oldKey)) // another time of change, the same content
		w.poll()
		if w.keys.ring.Load() != ring {
			t.Errorf("the ring was replaced, want it left alone")
		}
		w.want("0a0b0c0d")
	})
}

func TestChangedFileIsTakenWithinFiveSeconds(t *testing.T) {
	watch(t, func(w *watched) {
		w.write(ringText(newKey, oldKey))
		time.Sleep(5 * time.Second)
		synctest.Wait()
		w.want("f0f1f2f3", "")
		w.poll()
		w.want("f0f1f2f3")
	})
}

func TestHangupReadsAtOnceAndAlwaysReports(t *testing.T) {
	watch(t, func(w *watched) {
		w.write(ringText(newKey, oldKey))
		w.hup <- syscall.SIGHUP
		synctest.Wait()
		w.want("f0f1f2f3", "")
		w.hup <- syscall.SIGHUP
		synctest.Wait()
		w.want("f0f1f2f3", "")
		w.poll()
		w.want("f0f1f2f3")
	})
}

func TestClosedHangupChannelLeavesPolling(t *testing.T) {
	watch(t, func(w *watched) {
		close(w.hup)
		synctest.Wait()
		w.write(ringText(newKey, oldKey))
		w.poll()
		w.want("f0f1f2f3", "")
	})
}

func TestBadFileKeepsTheOldRing(t *testing.T) {
	for name, bad := range map[string]string{
		"empty":    "",
		"no mint":  oldKey + "\n" + newKey + "\n",
		"half":     ringText(newKey, oldKey)[:30],
		"junk":     "\x00\xff junk",
		"too big":  ringText(newKey) + "#" + strings.Repeat("x", maxRingFile),
		"two mint": oldKey + " mint\n" + newKey + " mint\n",
	} {
		t.Run(name, func(t *testing.T) {
			watch(t, func(w *watched) {
				w.write(bad)
				w.poll()
				w.want("0a0b0c0d", w.path)
				w.poll() // said once, not every five seconds
				w.want("0a0b0c0d")
				w.hup <- syscall.SIGHUP
				synctest.Wait()
				w.want("0a0b0c0d", w.path)
				w.write(ringText(oldKey)) // back as it was: the problem is over
				w.poll()
				w.want("0a0b0c0d", "")
				w.write(ringText(newKey))
				w.poll()
				w.want("f0f1f2f3", "")
			})
		})
	}
}

func TestVanishedFileKeepsTheOldRing(t *testing.T) {
	watch(t, func(w *watched) {
		if err := os.Remove(w.path); err != nil {
			t.Fatal(err)
		}
		w.poll()
		w.want("0a0b0c0d", "no such file")
		w.poll()
		w.want("0a0b0c0d")
		w.write(ringText(newKey))
		w.poll()
		w.want("f0f1f2f3", "")
	})
}

func TestFileReplacedByRenameIsTaken(t *testing.T) {
	watch(t, func(w *watched) {
		next := w.path + ".next"
		if err := os.WriteFile(next, []byte(ringText(newKey, oldKey)), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(next, w.path); err != nil {
			t.Fatal(err)
		}
		w.poll()
		w.want("f0f1f2f3", "")
	})
}

// TestFileBehindASwappedLinkIsTaken is how mounted secrets change: the file is a
// link into a directory that is itself a link, and that one is swapped.
func TestFileBehindASwappedLinkIsTaken(t *testing.T) {
	watch(t, func(w *watched) {
		dir := filepath.Dir(w.path)
		link := func(target, name string) {
			if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
		for version, text := range map[string]string{"v1": ringText(oldKey), "v2": ringText(newKey)} {
			if err := os.Mkdir(filepath.Join(dir, version), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, version, "keys"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Remove(w.path); err != nil {
			t.Fatal(err)
		}
		link("v1", "data")
		link(filepath.Join("data", "keys"), "keys")
		w.poll()
		w.want("0a0b0c0d")
		link("v2", "data.next")
		if err := os.Rename(filepath.Join(dir, "data.next"), filepath.Join(dir, "data")); err != nil {
			t.Fatal(err)
		}
		w.poll()
		w.want("f0f1f2f3", "")
	})
}

func TestOnlyARegularFileIsRead(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, pipe, os.DevNull, filepath.Join(dir, "missing"), ""} {
		if _, err := ReadRing(path); err == nil {
			t.Errorf("ReadRing(%q) = nil error, want an error", path)
		}
	}
}

func TestWatchNeedsAPathAndSomebodyToTell(t *testing.T) {
	keys, err := NewKeys(mustRing(t, ringText(oldKey)))
	if err != nil {
		t.Fatal(err)
	}
	if err := keys.Watch(t.Context(), "", nil, func(Load) {}); err == nil {
		t.Errorf("Watch without a path = nil, want an error")
	}
	if err := keys.Watch(t.Context(), "keys", nil, nil); err == nil {
		t.Errorf("Watch without a report = nil, want an error")
	}
}
