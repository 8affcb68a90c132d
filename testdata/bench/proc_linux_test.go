package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

func TestOwnUsage(t *testing.T) {
	before, err := cpuTime(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for start := time.Now(); time.Since(start) < 20*time.Millisecond; {
	}
	after, err := cpuTime(os.Getpid())
	if used := after - before; err != nil || used <= 0 || used > 10*time.Second {
		t.Errorf("got CPU time %v, %v", used, err)
	}
	m, err := memoryOf(os.Getpid())
	if err != nil || m.now < 1<<20 || m.peak < m.now/2 {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestShare(t *testing.T) {
	var s share
	if err := s.begin(); err != nil {
		t.Fatal(err)
	}
	for start := time.Now(); time.Since(start) < 20*time.Millisecond; {
	}
	if percent, err := s.end(); err != nil || percent < 0 {
		t.Errorf("%g %%, %v", percent, err)
	}
}

// TestProcess reads the output of a child that prints an event like dwatch.
func TestProcess(t *testing.T) {
	p, err := start(t.Context(), []string{"printf", `{"type":"ADDED","object":{}}\n`}, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := p.lines.follow(1, time.Minute, nil); got != 1 || err != nil {
		t.Errorf("got %d events, %v, want 1", got, err)
	}
	if seconds := p.since(p.lines.at); seconds <= 0 || seconds > 60 {
		t.Errorf("the line arrived %g s after the start, want between 0 and 60", seconds)
	}
	_, err = p.lines.next(time.Minute)
	if err = p.end(err); err == nil || !strings.Contains(err.Error(), "it ended too early") {
		t.Errorf("got error %v at the end, want one that says that the process ended too early", err)
	}
}

func TestProcessErrors(t *testing.T) {
	p, err := start(t.Context(), []string{"cat", "/nonesuch"}, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.lines.next(time.Minute)
	if err = p.end(err); err == nil || !strings.Contains(err.Error(), "No such file") {
		t.Errorf("got error %v, want one with the stderr of the process", err)
	}
	if _, err := start(t.Context(), []string{"/nonesuch"}, nil, false); err == nil {
		t.Error("start of a missing program returned no error")
	}
}

// TestListing reads a list byte by byte, so that podMark is split at every position.
func TestListing(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	const list = `{"kind": "Pod", "x": {"kind": "PodList"}}` + "\n" + `{"kind": "Pod"}` + "\n"
	go func() {
		defer w.Close()
		for range 3 {
			for i := range len(list) {
				w.WriteString(list[i : i+1])
			}
		}
	}()
	var l listing
	if err := l.read(&process{cmd: &exec.Cmd{Process: self}, stdout: r}); err != nil {
		t.Fatal(err)
	}
	if l.pods != 6 || l.bytes != 3*int64(len(list)) || l.peak == 0 || l.first.IsZero() {
		t.Errorf("%+v", l)
	}
}
