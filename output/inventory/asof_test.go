package inventory

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
)

// TestAsOf compares AsOf at each time with an inventory that retains everything. It may return ErrNotRetained, and it
// may lack the objects that HistoryGapsAt counts.
func TestAsOf(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 1))
		all, some := newSeen(t, Options{FullHistory: true}), newSeen(t, Options{MaxDeleted: 4})
		some.archive.states, some.archive.limit = 3+random.IntN(10), (20+random.IntN(200))*overhead
		there, seconds := map[string]string{}, 300
		for second := range seconds {
			name := fmt.Sprint("pod", random.IntN(1+random.IntN(12)))
			uid, is := there[name]
			kind := event.Modified
			switch {
			case !is:
				kind, uid = event.Added, fmt.Sprint("u", second)
			case random.IntN(12) == 0:
				kind = event.Deleted
			}
			if there[name] = uid; kind == event.Deleted {
				delete(there, name)
			}
			for _, s := range []*seen{all, some} {
				s.deliver(of(kind, pod(name, uid, fmt.Sprint(second), []string{"Running", "Failed"}[random.IntN(2)]), second))
			}
		}
		known := 0
		for second := range seconds {
			at := start.Add(time.Duration(second)*time.Second + time.Millisecond)
			past, err := AsOf(some.Inventory, at)
			if at.Before(EarliestAsOf(some.Inventory)) != errors.Is(err, ErrNotRetained) {
				t.Fatalf("seed %d: after %d s: got %v, and the earliest time is %s", seed, second, err, EarliestAsOf(some.Inventory))
			}
			if err != nil {
				continue
			}
			known++
			checkAsOf(t, all, some, past, at)
		}
		if known == 0 {
			t.Errorf("seed %d: no time is retained", seed)
		}
	}
}

func checkAsOf(t *testing.T, all, some *seen, past *Inventory, at time.Time) {
	t.Helper()
	versions := func(i *Inventory) map[string]string {
		states, err := i.ListAt(Now, nil)
		if i == all.Inventory {
			states, err = i.ListAt(at, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]string{}
		for _, s := range states {
			found[s.Entry.ID] = s.Object.ResourceVersion
		}
		return found
	}
	lacking := 0
	for _, l := range HistoryGapsAt(some.Inventory, at) {
		lacking += l.ObjectCount
	}
	if within := slices.ContainsFunc(HistoryGaps(some.Inventory), func(l HistoryGap) bool { return !l.From.After(at) && at.Before(l.To) }); within != (lacking > 0) {
		t.Errorf("at %s %d objects are missing, gaps are %v", at, lacking, HistoryGaps(some.Inventory))
	}
	want, got := versions(all.Inventory), versions(past)
	for id, version := range want {
		if got[id] == "" {
			lacking--
		} else if got[id] != version {
			t.Errorf("at %s: want %s in version %s, got %s", at, id, version, got[id])
		}
	}
	if lacking != 0 {
		t.Errorf("at %s: got %v, want %v", at, got, want)
	}
	for id := range got {
		if want[id] == "" {
			t.Errorf("at %s: unexpected object %s", at, id)
		}
		h, _ := past.History(id)
		for _, s := range h.States {
			if s.Time.After(at) {
				t.Errorf("at %s: the history of %s contains a later state", at, id)
			}
		}
	}
}

// TestHistoryGaps checks that gaps are reported per cluster and per time.
func TestHistoryGaps(t *testing.T) {
	s := newSeen(t, Options{})
	s.archive.states = 3
	change := func(cluster string, version, second int) {
		kind := event.Modified
		if version == 0 {
			kind = event.Added
		}
		e := of(kind, pod("p-"+cluster, "u", fmt.Sprint(version), []string{"Running", "Failed"}[version%2]), second)
		e.Target.Cluster = cluster
		s.deliver(e)
	}
	for second := range 20 {
		if second < 12 {
			change("a", second, second)
		}
		if second >= 5 {
			change("b", second-5, second)
		}
	}
	text := func(all []HistoryGap) (text string) {
		for _, l := range all {
			text += fmt.Sprintf("%s %d-%d: %d\n", l.Example.Name, l.From.Sub(start)/time.Second, l.To.Sub(start)/time.Second, l.ObjectCount)
		}
		return text
	}
	if got := text(HistoryGaps(s.Inventory)); got != "p-a 0-10: 1\np-b 5-18: 1\n" {
		t.Errorf("got gaps\n%s", got)
	}
	for second, want := range map[int]string{2: "p-a 0-10: 1\n", 7: "p-a 0-10: 1\np-b 5-18: 1\n", 14: "p-b 5-18: 1\n", 18: ""} {
		if got := text(HistoryGapsAt(s.Inventory, start.Add(time.Duration(second)*time.Second))); got != want {
			t.Errorf("after %d s: got gaps\n%s\nwant\n%s", second, got, want)
		}
	}
}

// TestAsOfIsStable checks that later events do not affect the result of AsOf, and that AsOf rejects times before the
// removal of an entry.
func TestAsOfIsStable(t *testing.T) {
	s := newSeen(t, Options{MaxDeleted: 1})
	s.deliver(of(event.Added, pod("a", "u1", "1", "Running"), 0), of(event.Added, pod("b", "u2", "2", "Running"), 1), of(event.Modified, pod("a", "u1", "3", "Failed"), 2))
	past, err := AsOf(s.Inventory, start.Add(2*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	s.deliver(of(event.Deleted, pod("a", "u1", "4", "Failed"), 3), of(event.Deleted, pod("b", "u2", "5", "Running"), 4))
	for range 2 {
		states, _ := past.ListAt(Now, nil)
		if len(states) != 2 || states[0].Object.ResourceVersion != "3" || states[0].Entry.Name != "a" || len(past.ListDeleted()) > 0 {
			t.Errorf("got objects %v, want a in version 3 and b", states)
		}
		if all := past.Problems(start.Add(2*time.Second), 1, change.Options{}); len(all) != 1 || all[0].State.Entry.Name != "a" {
			t.Errorf("got problems %v, want that of a", all)
		}
	}
	if _, err := AsOf(s.Inventory, start.Add(2*time.Second)); !errors.Is(err, ErrNotRetained) {
		t.Errorf("got %v for a time before the removal of an entry", err)
	}
	s.deliver(event.Event{Type: event.Added, Target: pods, Object: pod("c", "u3", "6", "Running"), Time: start.Add(5 * time.Second)})
	s.deliver(event.Event{Type: event.Left, Target: pods, Time: start.Add(9 * time.Second)})
	if _, err := AsOf(s.Inventory, start.Add(8*time.Second)); !errors.Is(err, ErrNotRetained) {
		t.Errorf("got %v for a time before a target left", err)
	}
}
