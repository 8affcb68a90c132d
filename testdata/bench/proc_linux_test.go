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
		t.Errorf("used %v, %v", used, err)
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

// TestProcess reads and lists a child that says what dwatch would.
func TestProcess(t *testing.T) {
	p, err := start(t.Context(), []string{"printf", `{"type":"ADDED","object":{}}\n`}, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := p.lines.follow(1, time.Minute, nil); got != 1 || err != nil {
		t.Errorf("%d events, %v", got, err)
	}
	if seconds := p.since(p.lines.at); seconds <= 0 || seconds > 60 {
		t.Errorf("after %g s", seconds)
	}
	_, err = p.lines.next(time.Minute)
	if err = p.end(err); err == nil || !strings.Contains(err.Error(), "it ended too early") {
		t.Errorf("the end is reported as %v", err)
	}
}

func TestProcessErrors(t *testing.T) {
	p, err := start(t.Context(), []string{"cat", "/nonesuch"}, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.lines.next(time.Minute)
	if err = p.end(err); err == nil || !strings.Contains(err.Error(), "No such file") {
		t.Errorf("what it wrote to stderr is not in %v", err)
	}
	if _, err := start(t.Context(), []string{"/nonesuch"}, nil, false); err == nil {
		t.Error("no program is no error")
	}
}

// TestListing cuts the marks of pods in two in every way.
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
