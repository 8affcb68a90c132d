package live

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"

	"dwatch/output/changes"
	"dwatch/watcher/event"
)

// frames is a Writer that counts the calls of Write.
type frames struct {
	mu  sync.Mutex
	n   int
	all bytes.Buffer
}

func (f *frames) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n++
	return f.all.Write(p)
}

// take returns the number of writes since the last call, and the written bytes.
func (f *frames) take() (int, string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	defer func() { f.n = 0; f.all.Reset() }()
	return f.n, f.all.String()
}

// TestFrames checks that the terminal gets at most 30 frames per second during many changes and keys, and one per second, for the
// ages, if nothing changes.
func TestFrames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{Title: "pods in shop", Options: changes.Options{Targets: []event.Target{podsOf}, Color: true, Compare: changeOptions()}})
		deliver := func(events ...event.Event) {
			t.Helper()
			for i := range events {
				events[i].Target, events[i].Time = podsOf, time.Now()
			}
			if err := s.Deliver(t.Context(), events); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 30 {
			deliver(initial(pod(t, fmt.Sprintf("web-%02d", i), "Running", 1)))
		}
		deliver(synced())
		var out frames
		m := newModel(t.Context(), s.store)
		p := s.program(m, &out, tea.WithInput(nil), tea.WithWindowSize(80, 45), tea.WithEnvironment([]string{"TERM=xterm-256color"}))
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { s.pump(ctx, p) })
		running.Go(func() {
			if _, err := p.Run(); err != nil {
				t.Error(err)
			}
		})
		time.Sleep(10 * time.Second)
		out.take()

		time.Sleep(10 * time.Second)
		if n, _ := out.take(); n < 9 || n > 11 {
			t.Errorf("10 s without changes: got %d frames, want 10", n)
		}

		// All visible rows change 10 times within the duration of a frame.
		for i := range 300 {
			phase := []string{"Running", "Pending"}[i/30%2]
			deliver(modified(pod(t, fmt.Sprintf("web-%02d", i%30), phase, 2+i)))
			time.Sleep(time.Second / framesPerSecond / 300)
		}
		time.Sleep(2 * time.Second / framesPerSecond)
		if n, text := out.take(); n < 1 || n > 3 || !strings.Contains(text, "~") {
			t.Errorf("300 changes within the duration of a frame: got %d frames, want 1 to 3: %q", n, text)
		}

		// 200 changes and 100 keys per second.
		for i := range 1000 {
			deliver(modified(pod(t, fmt.Sprintf("web-%02d", i%30), []string{"Running", "Pending"}[i/30%2], 400+i)))
			if i%2 == 0 {
				p.Send(keyOf([]string{"down", "up"}[i/20%2]))
			}
			time.Sleep(5 * time.Millisecond)
		}
		if n, _ := out.take(); n < 5*20 || n > 5*framesPerSecond+1 {
			t.Errorf("5 s of changes and keys: got %d frames, want %d to %d", n, 5*20, 5*framesPerSecond+1)
		}
		stop()
		running.Wait()
		time.Sleep(time.Second) // the goroutine of the last tick ends after the program
	})
}

// TestOnlyVisible checks that drawing a frame does not read rows that are not visible.
func TestOnlyVisible(t *testing.T) {
	s := newScreen(t, 80, 24, nil)
	for i := range 1000 {
		s.deliver(initial(pod(t, fmt.Sprintf("web-%04d", i), "Running", 1)))
	}
	s.deliver(synced())
	order := s.table.sections[0].order
	for i := s.body() - 1; i < len(order); i++ {
		order[i] = nil // reading it panics
	}
	s.send(changedMsg{})
	s.shows(`web-0000[\s\S]*web-0018`)
	s.pass(time.Second)
	s.shows(`web-0000[\s\S]*web-0018`)
}
