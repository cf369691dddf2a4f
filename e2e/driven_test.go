//go:build e2e

package e2e_test

import (
	"bufio"
	"encoding/json"
	"io"
	"testing"
	"time"
)

// A driven is a program of this folder that is told what to do by lines of JSON,
// and ends with its standard input.
type driven struct {
	script string
	in     io.WriteCloser
	lines  chan []byte
	err    *output
}

// drive starts a script with its settings as the one argument.
func drive(t testing.TB, script string, settings any, env ...string) *driven {
	t.Helper()
	text, err := json.Marshal(settings)
	if err != nil {
		t.Fatal(err)
	}
	d := &driven{script: script, lines: make(chan []byte), err: new(output)}
	cmd := node(script, string(text))
	cmd.Env = append(cmd.Env, env...)
	cmd.Stderr = d.err
	if d.in, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", script, err)
	}
	ended := make(chan struct{})
	go d.read(out, ended)
	t.Cleanup(func() {
		d.in.Close()
		kill := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
		for range d.lines { // what nobody asked for any more
		}
		<-ended
		err := cmd.Wait()
		kill.Stop()
		if complaint := d.err.tail(); err != nil || t.Failed() && complaint != "" {
			t.Logf("%s ended (%v); the last of what it complained about:\n%s", script, err, complaint)
		}
	})
	return d
}

func (d *driven) read(out io.Reader, ended chan<- struct{}) {
	defer close(ended)
	defer close(d.lines)
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		d.lines <- append([]byte(nil), lines.Bytes()...)
	}
}

// tell sends one line.
func (d *driven) tell(t testing.TB, message any) {
	t.Helper()
	if err := json.NewEncoder(d.in).Encode(message); err != nil {
		t.Fatalf("tell %s: %v\n%s", d.script, err, d.err.tail())
	}
}

// hear waits for one line.
func (d *driven) hear(t testing.TB, message any) {
	t.Helper()
	select {
	case line, open := <-d.lines:
		if !open {
			t.Fatalf("%s ended:\n%s", d.script, d.err.tail())
		}
		if err := json.Unmarshal(line, message); err != nil {
			t.Fatalf("%s says %q: %v", d.script, line, err)
		}
	case <-time.After(patience):
		t.Fatalf("%s says nothing for %v:\n%s", d.script, patience, d.err.tail())
	}
}
