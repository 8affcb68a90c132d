package page

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"dwatch/watcher/event"
)

// TestHeld: while nobody takes the output, nothing new comes: viewers are told so, and
// when it goes on.
func TestHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		wait := time.Duration(0)
		sink := h.Beside(event.SinkFunc(func(context.Context, []event.Event) error {
			time.Sleep(wait)
			return nil
		}))
		say := func() (all string) {
			h.mu.Lock()
			defer h.mu.Unlock()
			for _, m := range taken(t, h, 0) {
				if m["type"] == "watch" {
					_, named := m["target"]
					all += fmt.Sprint(m["event"], " ", m["watch"].(map[string]any)["state"], " ", m["feed"], " ", named, "; ")
				}
			}
			return all
		}
		send := func(e event.Event) {
			if err := sink.Deliver(t.Context(), []event.Event{e}); err != nil {
				t.Error(err)
			}
		}
		synced := event.Event{Type: event.Synced, Target: pods, Time: time.Now()}
		send(synced)
		wait = holdAfter - time.Millisecond
		send(added(pods, pod("a", "u1", "1", "Running"), 0))
		if got := say(); got != "SYNCED live false true; " {
			t.Errorf("what is quick enough: %s", got)
		}
		wait = 10 * time.Second
		returned := make(chan bool)
		go func() {
			send(added(pods, pod("b", "u2", "2", "Running"), 0))
			close(returned)
		}()
		time.Sleep(holdAfter + time.Second)
		synctest.Wait()
		if got := say(); got != "SYNCED live false true; HELD held true false; " {
			t.Errorf("after %v: %s", holdAfter+time.Second, got)
		}
		<-returned
		if got := say(); got != "SYNCED live false true; HELD held true false; RELEASED live true false; " {
			t.Errorf("when it went on: %s", got)
		}
	})
}
