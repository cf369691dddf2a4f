//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// screen is what the user sees.
type screen struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func shell(script string) *exec.Cmd { return exec.Command("/bin/sh", "-c", script) }

func TestOneEndEndsTheWait(t *testing.T) {
	for script, want := range map[string]string{
		"echo last words; exit 3":     "weak ended (exit status 3)",
		"echo last words":             "weak ended (exit status 0)",
		"echo last words; kill -9 $$": "weak ended (signal: killed)",
	} {
		t.Run(script, func(t *testing.T) {
			var seen screen
			all := newChildren(newConsole(&seen))
			if err := all.start("strong", shell("exec sleep 1000")); err != nil {
				t.Fatal(err)
			}
			if err := all.start("weak", shell(script)); err != nil {
				t.Fatal(err)
			}
			if err := all.wait(t.Context()); err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("wait = %v, want %s", err, want)
			}
			if !strings.Contains(seen.String(), "weak    | last words\n") {
				t.Errorf("output = %q, want the last words with the name in front", &seen)
			}
			if err := all.stop(); err != nil {
				t.Errorf("stop = %v", err)
			}
			select {
			case <-all.list[0].Done():
			default:
				t.Error("the other one still runs after stop")
			}
		})
	}
}

func TestLastStartedStopsFirst(t *testing.T) {
	var seen screen
	ready := make(chan struct{}, 2)
	all := newChildren(newConsole(writer(func(line string) {
		seen.Write([]byte(line))
		if strings.Contains(line, "ready") {
			ready <- struct{}{}
		}
	})))
	for _, name := range []string{"first", "second"} {
		if err := all.start(name, shell("trap 'echo bye; exit' TERM; echo ready; while :; do sleep 0.01; done")); err != nil {
			t.Fatal(err)
		}
		<-ready
	}
	if err := all.stop(); err != nil {
		t.Fatalf("stop = %v", err)
	}
	text := seen.String()
	first, second := strings.Index(text, "first   | bye"), strings.Index(text, "second  | bye")
	if first < 0 || second < 0 || second > first {
		t.Errorf("output = %q, want the second to say bye before the first", text)
	}
}

type writer func(string)

func (w writer) Write(p []byte) (int, error) {
	w(string(p))
	return len(p), nil
}

func TestWaitEndsWithTheContext(t *testing.T) {
	all := newChildren(newConsole(&screen{}))
	if err := all.start("strong", shell("exec sleep 1000")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := all.wait(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("wait = %v, want context canceled", err)
	}
	if err := all.stop(); err != nil {
		t.Errorf("stop = %v", err)
	}
}
