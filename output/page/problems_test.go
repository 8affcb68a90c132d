package page

import (
	"fmt"
	"testing"
	"time"

	"dwatch/output/inventory"
)

// TestProblems tests that a viewer gets problems when they appear and when they change.
func TestProblems(t *testing.T) {
	h := newHub()
	s := serve(t, h)
	o := pod("a", "u1", "1", "Running")
	deliver(t, h, added(pods, o, 0))
	d := s.dial(t, "")
	if m := d.problems(); fmt.Sprint(m["items"]) != "[]" {
		t.Errorf("%v", m)
	}
	failed := pod("a", "u1", "2", "Failed")
	deliver(t, h, modified(pods, o, failed, 1))
	m := d.problems()
	items := m["items"].([]any)
	if len(items) != 1 {
		t.Fatalf("%v", m)
	}
	one := items[0].(map[string]any)
	if one["key"] != "pods/u1" || one["failed"] != true || fmt.Sprint(one["root"]) != "map[kind:Pod name:a]" || one["why"] == "" {
		t.Errorf("%v", one)
	}
	deliver(t, h, deleted(pods, failed, 2))
	if m := d.problems(); fmt.Sprint(m["items"]) != "[]" {
		t.Errorf("%v", m)
	}
}

// TestProblemsAtOnce tests that a problem is sent together with its row.
func TestProblemsAtOnce(t *testing.T) {
	h, now := newHub(), time.Unix(1700000000, 0)
	h.clock = func() time.Time { return now } // no second passes
	s := serve(t, h)
	d, o := s.dial(t, ""), pod("a", "u1", "1", "Running")
	d.problems()
	deliver(t, h, added(pods, o, 0))
	for n, phase := range []string{"Failed", "Running", "Failed"} {
		next := pod("a", "u1", fmt.Sprint(n+2), phase)
		deliver(t, h, modified(pods, o, next, n+1))
		o = next
		for last := ""; last != "problems"; {
			m := d.read()
			if m["type"] == "ping" && last == "change" {
				t.Fatalf("the row of event %d comes without what needs a look", n)
			}
			last = fmt.Sprint(m["type"])
		}
	}
}

// problems returns the next message about problems.
func (d *dialed) problems() message {
	d.t.Helper()
	for {
		if m := d.read(); m["type"] == "problems" {
			return m
		}
	}
}

// TestSlowProblems tests that a message about problems is built again after fifty times the time that it took, but at
// least a second and at most five.
func TestSlowProblems(t *testing.T) {
	for took, pause := range map[time.Duration]time.Duration{0: time.Second, time.Millisecond: time.Second, 40 * time.Millisecond: 2 * time.Second, 900 * time.Millisecond: 5 * time.Second} {
		h, now := newHub(), time.Unix(1700000000, 0)
		var l problemsCache
		made := func(step, wait time.Duration) *byte {
			now = now.Add(wait)
			message, _ := l.get(func() time.Time { now = now.Add(step); return now }, h)
			return &message[0]
		}
		first := made(took, 0)
		if made(0, pause-time.Millisecond) != first {
			t.Errorf("a message that took %s is built again before %s", took, pause)
		}
		if made(0, time.Millisecond) == first {
			t.Errorf("a message that took %s is not built again after %s", took, pause)
		}
	}
}

// TestManyProblems tests that only the first problems are sent, with the number of the others.
func TestManyProblems(t *testing.T) {
	all := make([]inventory.Problem, maxProblems+3)
	for n := range all {
		all[n].State = &inventory.State{Entry: &inventory.Entry{}}
	}
	if m := problemsOf(newHub(), all, time.Time{}); len(m.Items) != maxProblems || m.More != 3 {
		t.Errorf("%d and %d more", len(m.Items), m.More)
	}
}
