package page

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/output/inventory"
	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
	"dwatch/watcher/object/owner"
)

// course is a Hub that started an hour ago. Each call of tell advances its time by a second.
type course struct {
	*Hub
	t     *testing.T
	begin time.Time
	there map[string]event.Object // existing objects by name
	shown []map[string]string     // rows after each second
}

func newCourse(t *testing.T) *course {
	h := &course{Hub: newHub(), t: t, begin: time.Now().Add(-time.Hour).Truncate(time.Second), there: map[string]event.Object{}}
	h.startedAt(h.begin)
	h.tell(event.Event{Type: event.Synced, Target: pods})
	return h
}

func (h *course) at(second int) time.Time { return h.begin.Add(time.Duration(second) * time.Second) }

// tell delivers events at the next second.
func (h *course) tell(all ...event.Event) {
	h.t.Helper()
	for i := range all {
		all[i].Time = h.at(len(h.shown))
		if heard := all[i].Heard; !heard.IsZero() {
			all[i].Heard = all[i].Time.Add(-time.Second)
		}
	}
	deliver(h.t, h.Hub, all...)
	h.shown = append(h.shown, rowsOf(h.Hub))
}

var ofSeq = regexp.MustCompile(`"seq":\d+,`)

// rowsOf returns the rows that viewers get by key, without sequence numbers.
func rowsOf(h *Hub) map[string]string {
	states, _ := h.inventory.ListAt(inventory.Now, nil)
	rows := map[string]string{}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range append(states, h.inventory.ListDeleted()...) {
		rows[s.Entry.ID] = ofSeq.ReplaceAllString(string(rowViewOf(h, s).appendTo(nil)), "")
	}
	return rows
}

// random returns a random event about one of at most n pods.
func (h *course) random(n int) event.Event {
	name := fmt.Sprint("pod", rand.IntN(1+rand.IntN(n)))
	old, is := h.there[name]
	second := len(h.shown)
	switch {
	case !is:
		h.there[name] = pod(name, fmt.Sprint("u", second), fmt.Sprint(second), "Pending")
		return added(pods, h.there[name], 0)
	case n > 2 && rand.IntN(12) == 0:
		delete(h.there, name)
		return deleted(pods, old, 0)
	}
	now := pod(name, string(old.UID), fmt.Sprint(second), []string{"Running", "Failed", "Pending"}[rand.IntN(3)])
	h.there[name] = now
	return modified(pods, old, now, 0)
}

// past returns a Hub that shows a time, and its coverage.
func (h *course) past(at time.Time) (*Hub, Coverage) {
	h.t.Helper()
	into := New(h.Options)
	known, err := liveHistory{h.Hub}.rewind(h.t.Context(), at, into)
	if err != nil {
		h.t.Fatal(err)
	}
	known.show(into, at)
	return into, known
}

// TestLiveHistory tests that a Hub shows each retained time as it showed it then, and reports the times that are not
// retained.
func TestLiveHistory(t *testing.T) {
	t.Parallel()
	for _, pods := range []int{20, 2} { // the states of the two pods do not all fit
		h := newCourse(t)
		for range 600 {
			h.tell(h.random(pods))
		}
		unknown := 0
		for second, want := range h.shown {
			into, known := h.past(h.at(second).Add(500 * time.Millisecond))
			got := rowsOf(into)
			if len(known.StateGapsAtTime) > 0 {
				unknown++
				maps.DeleteFunc(want, func(key, _ string) bool { return got[key] == "" })
			}
			if pods > 2 && !maps.Equal(got, want) || len(got) != len(want) {
				t.Fatalf("%d pods, after %d s there was\n%v, and not\n%v", pods, second, got, want)
			}
			for key, row := range got {
				checkCourse(t, row, want[key])
			}
		}
		if (unknown > 0) != (pods == 2) || unknown == len(h.shown) {
			t.Errorf("%d pods: %d of %d times are unknown", pods, unknown, len(h.shown))
		}
	}
}

// checkCourse compares the course of a row with the row as it was shown at that time. got may have fewer segments and
// ticks, but the same last ones, and counts the others.
func checkCourse(t *testing.T, got, want string) {
	t.Helper()
	for _, member := range []string{"segments", "ticks"} {
		all := func(row string) (drawn []gjson.Result, sum int) {
			drawn = gjson.Get(row, member).Array()
			return drawn, len(drawn) + int(gjson.Get(row, member+"More").Int())
		}
		drawn, sum := all(got)
		shown, sumShown := all(want)
		if sum != sumShown || len(drawn) == 0 && len(shown) > 0 {
			t.Fatalf("the row has %d %s (%d of them sent), want %d: %s", sum, member, len(drawn), sumShown, got)
		}
		for n := range min(len(drawn), len(shown)) - 1 { // the beginning of the first one may be unknown
			if drawn[len(drawn)-1-n].Raw != shown[len(shown)-1-n].Raw {
				t.Fatalf("got\n%s, want\n%s", got, want)
			}
		}
	}
	for _, member := range []string{"changes", "changed", "status"} {
		if gjson.Get(got, member).Raw != gjson.Get(want, member).Raw {
			t.Fatalf("got\n%s, want\n%s", got, want)
		}
	}
}

// TestLiveHistoryQuiet tests that a change of the status that is not significant is shown from its time on, and not
// before.
func TestLiveHistoryQuiet(t *testing.T) {
	t.Parallel()
	deployment := func(version string, generation, observed int) event.Object {
		return objectOf("apps/v1", "Deployment", "web", "u1", version, fmt.Sprintf(`,"generation":%d},"spec":{"replicas":1},"status":{"observedGeneration":%d,"replicas":1,"updatedReplicas":1,"readyReplicas":1,"availableReplicas":1,"conditions":[{"type":"Available","status":"True"},{"type":"Progressing","status":"True","reason":"NewReplicaSetAvailable"}]}`, generation, observed))
	}
	a := func(version, phase string) event.Object { return pod("a", "u1", version, phase) }
	for name, course := range map[string][]event.Event{
		"default noise": {
			added(pods, deployment("1", 1, 1), 0), modified(pods, deployment("1", 1, 1), deployment("2", 2, 1), 0), {}, {}, modified(pods, deployment("2", 2, 1), deployment("3", 2, 2), 0), {},
		},
		"--ignore status": {added(pods, a("1", "Running"), 0), {}, {}, modified(pods, a("1", "Running"), a("2", "Failed"), 0), {}, modified(pods, a("2", "Failed"), a("3", "Running"), 0)},
	} {
		h := newCourse(t)
		if name != "default noise" {
			ignored, err := change.ParsePattern("status")
			if err != nil {
				t.Fatal(err)
			}
			h.Compare.Noise.Paths = append(slices.Clip(h.Compare.Noise.Paths), ignored)
		}
		states := map[string]bool{}
		for _, e := range course {
			if e.Type == "" {
				h.tell()
				continue
			}
			h.tell(e)
		}
		for second, want := range h.shown {
			into, _ := h.past(h.at(second))
			if got := rowsOf(into); !maps.Equal(got, want) {
				t.Errorf("%s: after %d s there was\n%v, and not\n%v", name, second, got, want)
			}
			for _, row := range want {
				states[gjson.Get(row, "status.state").Str] = true
			}
		}
		if len(states) < 2 {
			t.Errorf("%s: it was always %v", name, states)
		}
	}
}

// TestLiveHistoryFeed tests that a past time has the changes up to it, and its problems.
func TestLiveHistoryFeed(t *testing.T) {
	t.Parallel()
	h := newCourse(t)
	a := pod("a", "u1", "1", "Running")
	h.tell(added(pods, a, 0))
	h.tell(modified(pods, a, pod("a", "u1", "2", "Failed"), 0))
	h.tell(modified(pods, pod("a", "u1", "2", "Failed"), pod("a", "u1", "3", "Running"), 0))
	h.tell(deleted(pods, pod("a", "u1", "3", "Running"), 0))
	for second, want := range []struct{ feed, problems int }{{0, 0}, {1, 0}, {2, 1}, {3, 1}, {4, 0}} {
		into, _ := h.past(h.at(second))
		if feed := into.feedPage(^uint64(0), 100).Items; len(feed) != want.feed {
			t.Errorf("after %d s there were %d changes, not %d: %s", second, len(feed), want.feed, feed)
		}
		text, _ := into.problemsCache.get(into.clock, into)
		m := decode(t, text)
		if items, _ := m["items"].([]any); len(items) != want.problems {
			t.Errorf("after %d s %d needed a look, not %d: %v", second, len(items), want.problems, m)
		}
	}
}

// TestLiveHistoryFeedCut tests that the answer says so if feed messages before a time were dropped.
func TestLiveHistoryFeedCut(t *testing.T) {
	t.Parallel()
	h := newCourse(t)
	h.log.max = 20_000
	old := pod("a", "u1", "0", "Pending")
	h.tell(added(pods, old, 0))
	if into, _ := h.past(h.at(1)); into.feedPage(^uint64(0), 100).Cut {
		t.Error("the feed is complete, although messages were dropped")
	}
	for n := range 60 {
		now := pod("a", "u1", fmt.Sprint(n+1), []string{"Running", "Failed"}[n%2])
		h.tell(modified(pods, old, now, 0))
		old = now
	}
	for _, second := range []int{10, 60} {
		into, _ := h.past(h.at(second))
		feed := into.feedPage(^uint64(0), 100)
		if !feed.Cut || len(feed.Items) > second || second == 10 && len(feed.Items) > 0 {
			t.Errorf("after %d s there are %d changes, and that there were others: %v", second, len(feed.Items), feed.Cut)
		}
		if part := into.feedPage(^uint64(0), 1); second == 60 && (part.Before == 0 || part.Cut) {
			t.Errorf("of a part it says %+v", part)
		}
	}
}

// TestLiveHistoryBlind tests that times before the start, during the initial lists and during outages are gaps.
func TestLiveHistoryBlind(t *testing.T) {
	t.Parallel()
	h := newCourse(t)
	h.tell(added(pods, pod("a", "u1", "1", "Running"), 0))
	h.tell()
	h.tell(event.Event{Type: event.Disconnected, Target: pods, Heard: time.Now()}) // a second after that was heard
	h.tell()
	h.tell(event.Event{Type: event.Gap, Target: pods})
	if all := (liveHistory{h.Hub}).held(); all.From != millis(h.begin) || len(all.Gaps) != 1 || !all.Live {
		t.Errorf("there is %+v", all)
	}
	for range 60 {
		h.tell()
	}
	h.tell(event.Event{Type: event.Joined, Target: secrets})
	h.tell(event.Event{Type: event.Synced, Target: secrets})
	for second, want := range map[int]string{
		-5: "before dwatch was started", 0: "secrets: not read yet", 1: "secrets: not read yet", 2: "pods: not connected; secrets: not read yet",
		4: "pods: not connected; secrets: not read yet", 5: "secrets: not read yet", 66: "secrets: not read yet", 67: "",
	} {
		_, known := h.past(h.at(second))
		var why []string
		for _, g := range known.StateGapsAtTime {
			why = append(why, g.Reason)
		}
		if slices.Sort(why); strings.Join(why, "; ") != want {
			t.Errorf("after %d s: %q, not %q", second, why, want)
		}
	}
	if all := (liveHistory{h.Hub}).held(); all.From != millis(h.begin) || len(all.Gaps) != 2 {
		t.Errorf("there is %+v", all)
	}
}

// TestLiveHistoryDenied tests that the gap of a denied watch has the missing right as its reason, also after it has ended.
func TestLiveHistoryDenied(t *testing.T) {
	t.Parallel()
	h := newCourse(t)
	h.tell(event.Event{Type: event.Joined, Target: secrets}, event.Event{Type: event.Denied, Target: secrets})
	for range 70 {
		h.tell()
	}
	why := "secrets: the right to watch was missing"
	for n := range 2 {
		_, known := h.past(h.at(50))
		if len(known.StateGapsAtTime) != 1 || known.StateGapsAtTime[0].Reason != why {
			t.Errorf("%d: %+v", n, known.StateGapsAtTime)
		}
		h.tell(event.Event{Type: event.Synced, Target: secrets})
	}
}

// TestLiveHistoryAbove tests that a problem at a past time shows the result of a lookup once that is known.
func TestLiveHistoryAbove(t *testing.T) {
	t.Parallel()
	h := newCourse(t)
	known := false
	h.LookupOwners = func(string, owner.Ref) ([]owner.Owner, bool) {
		web := owner.Owner{Ref: owner.Ref{GroupVersionKind: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, Namespace: "shop", Name: "web", UID: "u3"}, Controller: true}
		return []owner.Owner{web}[:map[bool]int{true: 1}[known]], known
	}
	course := &course{Hub: New(h.Options), t: t, begin: h.begin, there: h.there}
	course.startedAt(h.begin)
	course.tell(event.Event{Type: event.Synced, Target: pods})
	course.tell(added(pods, object("Pod", "a", "u1", "1", `,"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-1","uid":"u2","controller":true}]},"status":{"phase":"Failed"}`), 0))
	into, _ := course.past(course.at(20))
	for _, want := range []string{"web-1", "web"} {
		text, _ := into.problemsCache.get(into.clock, into)
		if name := gjson.GetBytes(text, "items.0.root.name").Str; name != want {
			t.Errorf("it is of %s, and not of %s: %s", name, want, text)
		}
		known, into.problemsCache.at = true, time.Now().Add(-time.Hour)
	}
}

// TestLiveHistoryWhile tests that past times can be read while objects change.
func TestLiveHistoryWhile(t *testing.T) {
	t.Parallel()
	h := newCourse(t)
	for range 100 {
		h.tell(h.random(20))
	}
	there := maps.Clone(h.there)
	done := make(chan struct{})
	defer func() { <-done }()
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		defer close(done)
		for n := 0; ; n++ {
			for name, old := range there {
				select {
				case <-stop:
					return
				default:
				}
				e := modified(pods, old, pod(name, string(old.UID), fmt.Sprint(1000+n), []string{"Running", "Failed", "Pending"}[n%3]), 0)
				e.Time = h.at(1000)
				h.Deliver(t.Context(), []event.Event{e})
			}
		}
	}()
	for second := 0; second < 100; second += 10 {
		into, _ := h.past(h.at(second))
		into.inventory.Problems(h.at(second), maxProblems, h.Compare)
		if into.isExpired() {
			continue // so much has happened that it is not held
		}
		if got, want := rowsOf(into), h.shown[second]; len(got) > len(want) {
			t.Errorf("after %d s there was\n%v, and not\n%v", second, got, want)
		}
	}
}

// TestLiveHistoryLate tests that a late event, which another stage has delayed, expires the Hubs of the times that it
// changes.
func TestLiveHistoryLate(t *testing.T) {
	t.Parallel()
	h := newCourse(t)
	a := pod("a", "u1", "1", "Running")
	h.tell(added(pods, a, 0))
	shown, _ := h.past(h.at(9))
	earlier, _ := h.past(h.at(5))
	now := modified(pods, a, pod("a", "u1", "2", "Failed"), 0)
	now.Time = h.at(12)
	deliver(t, h.Hub, now)
	if shown.isExpired() || earlier.isExpired() {
		t.Error("a later event expires the Hub of an earlier time")
	}
	late := modified(pods, pod("a", "u1", "2", "Failed"), pod("a", "u1", "3", "Running"), 0)
	late.Time = h.at(7)
	deliver(t, h.Hub, late)
	if !shown.isExpired() || earlier.isExpired() {
		t.Errorf("after a late event at 7 s, the Hub of 9 s is expired: %v, the one of 5 s: %v", shown.isExpired(), earlier.isExpired())
	}
	again, _ := h.past(h.at(9))
	lost := event.Event{Type: event.Disconnected, Target: pods, Time: h.at(30), Heard: h.at(8)}
	if again.isExpired() {
		t.Error("the Hub is expired")
	}
	if deliver(t, h.Hub, lost); !again.isExpired() || earlier.isExpired() {
		t.Error("the Hub is not expired although the coverage ended before its time")
	}
	// Only the times of maxLate events are retained.
	for range maxLate + 1 {
		deliver(t, h.Hub, late)
	}
	if !earlier.isExpired() {
		t.Error("the Hub is not expired although late events before its time may have been dropped")
	}
}

// TestLiveHistoryRead tests that the times that can be shown begin after the initial lists, unless these take too long.
func TestLiveHistoryRead(t *testing.T) {
	t.Parallel()
	h := newCourse(t)
	h.tell()
	h.tell(event.Event{Type: event.Joined, Target: secrets}, event.Event{Type: event.Synced, Target: secrets})
	if all := (liveHistory{h.Hub}).held(); all.From != millis(h.at(2)) || len(all.Gaps) > 0 {
		t.Errorf("there is %+v", all)
	}
	if _, known := h.past(h.at(1)); len(known.StateGapsAtTime) != 1 || len(known.Gaps) > 0 {
		t.Errorf("it knows %+v", known)
	}
}

// TestLiveHistoryServed tests that requests with a time get the masked state at that time, others the present, and that
// an expired Hub is dropped.
func TestLiveHistoryServed(t *testing.T) {
	t.Parallel()
	h := newCourse(t)
	secret := func(version, value string) event.Object {
		return object("Secret", "s", "u9", version, `},"data":{"k":"`+value+`"}`)
	}
	h.tell(event.Event{Type: event.Synced, Target: secrets}, added(secrets, secret("1", "b2xkZXI="), 0))
	h.tell(modified(secrets, secret("1", "b2xkZXI="), secret("2", "bmV3ZXI="), 0))
	s := serve(t, h.Hub)
	then := fmt.Sprint("time=", millis(h.at(1)))
	key := "secrets/u9"
	one := s.get(t, "/api/object?key="+key+"&"+then)
	if text := string(encode(one)); !strings.Contains(text, `\"1\"`) && !strings.Contains(text, `"resourceVersion":"1"`) || strings.Contains(text, "b2xkZXI") || len(one["moments"].([]any)) != 1 {
		t.Errorf("it was %s", text)
	}
	for _, query := range []string{"", "&time=99999999999999"} {
		if now := s.get(t, "/api/object?key="+key+query); len(now["moments"].([]any)) != 2 {
			t.Errorf("%q: it is %v", query, now)
		}
	}
	if feed := s.get(t, "/api/feed?"+then)["items"].([]any); len(feed) != 1 {
		t.Errorf("there were the changes %v", feed)
	}
	if response, _ := send(t, s.request(t, "GET", "/api/feed?time=soon")); response.StatusCode != http.StatusBadRequest {
		t.Error(response.Status)
	}
	d := s.dial(t, "?"+then)
	hello := d.next("hello")
	if past := message(hello["past"].(map[string]any)); past.number("at") != uint64(millis(h.at(1))) || past["live"] != true || hello["held"] != nil {
		t.Errorf("it says %v", hello)
	}
	if rows := d.rows(); len(rows) != 1 || rows[0].number("changes") != 1 {
		t.Errorf("there were %v", rows)
	}
	live := s.dial(t, "")
	if hello := live.next("hello"); hello["live"] != true || hello["past"] != nil {
		t.Errorf("it says %v", hello)
	}
	for _, query := range []string{"", "?" + then} {
		if held := s.get(t, "/api/held"+query); held.number("from") != uint64(millis(h.at(1))) || held["live"] != true || held["gaps"] != nil {
			t.Errorf("%q: it holds %v", query, held)
		}
	}
	if n := len(s.hubs.held); n != 1 {
		t.Errorf("%d times are held", n)
	}
	// /api/held describes the present, however long a viewer has been connected.
	deliver(t, h.Hub, event.Event{Type: event.Disconnected, Target: secrets, Time: h.at(7), Heard: h.at(6)})
	deliver(t, h.Hub, event.Event{Type: event.Gap, Target: secrets, Time: h.at(8)})
	gaps, _ := s.get(t, "/api/held")["gaps"].([]any)
	if len(gaps) != 1 || message(gaps[0].(map[string]any)).number("from") != uint64(millis(h.at(6))) {
		t.Errorf("it was not seen %v", gaps)
	}
	// The target leaves, and with it what was known of it: that is shown no longer.
	deliver(t, h.Hub, event.Event{Type: event.Left, Target: secrets, Time: h.at(9)})
	for {
		if _, _, err := d.Read(t.Context()); err != nil {
			break
		}
	}
	again := s.dial(t, "?"+then)
	if past := message(again.next("hello")["past"].(map[string]any)); !strings.Contains(fmt.Sprint(past["unknown"]), "no longer retained") || len(again.rows()) > 0 {
		t.Errorf("it says %v", past)
	}
}
