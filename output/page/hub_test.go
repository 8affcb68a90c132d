package page

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/watcher/event"
)

// taken returns the messages that a hub has given a number, from this one on.
func taken(t *testing.T, h *Hub, after uint64) (all []message) {
	t.Helper()
	entries, held := h.log.after(after, 1<<20)
	if !held {
		t.Fatalf("the messages after %d were dropped", after)
	}
	for _, e := range entries {
		m := decode(t, e.full(nil))
		if m.number("seq") != e.seq {
			t.Fatalf("%v has not the number %d", m, e.seq)
		}
		all = append(all, m)
	}
	return all
}

// TestFeed tests that the feed has what -o changes shows, that noise is counted, and that changes without a visible
// effect are not sent.
func TestFeed(t *testing.T) {
	h := newHub()
	first, second := pod("a", "u1", "1", "Pending"), pod("a", "u1", "2", "Running")
	other := pod("b", "u2", "4", "Running")
	initial := added(pods, other, 0)
	initial.Initial = true
	unknown := deleted(pods, event.NewObject(second.Identity, ""), 9)
	unknown.FinalStateUnknown = true
	across := modified(pods, second, pod("a", "u1", "5", "Failed"), 4)
	across.Listed = true
	tests := []struct {
		what   string
		event  event.Event
		sent   bool
		feed   bool
		expect string // changes
		text   string
	}{
		{"it exists at the start", initial, true, false, "<nil>", ""},
		{"it appears", added(pods, first, 1), true, true, "<nil>", ""},
		{"it changes", modified(pods, first, second, 2), true, true, "[map[new:Running old:Pending path:status.phase]]", ""},
		{"only its version changes", modified(pods, second, pod("a", "u1", "3", "Running"), 3), false, false, "", ""},
		{"it changes, the previous state is missing", modified(pods, event.Object{}, pod("c", "u4", "4", "Running"), 4), true, true, "<nil>", "changed, details unknown: the previous state is missing"},
		{"it changed without an event", across, true, true, "[map[new:Failed old:Running path:status.phase]]", "noticed later"},
		{"it is deleted", deleted(pods, other, 5), true, true, "<nil>", ""},
		{"another takes its place", added(pods, pod("b", "u3", "6", "Running"), 8), true, true, "<nil>", "replaces the one deleted 3 s ago"},
		{"it is found deleted", unknown, true, true, "<nil>", "noticed later"},
	}
	for _, test := range tests {
		last := h.log.last
		deliver(t, h, test.event)
		got := taken(t, h, last)
		if !test.sent {
			if len(got) > 0 {
				t.Errorf("%s: %v", test.what, got)
			}
			continue
		}
		if len(got) != 1 {
			t.Fatalf("%s: %v", test.what, got)
		}
		m := got[0]
		text, _ := m["text"].(string)
		if m["feed"] != test.feed || m.text("changes") != test.expect || text != test.text || m["event"] != string(test.event.Type) {
			t.Errorf("%s: %v", test.what, m)
		}
	}
}

// TestRow tests the row of an object from its creation to its deletion.
func TestRow(t *testing.T) {
	h := newHub()
	states := []string{"Pending", "Running", "Failed"}
	o := pod("a", "u1", "1", "Pending")
	deliver(t, h, added(pods, o, 0))
	for i, phase := range states[1:] {
		now := pod("a", "u1", fmt.Sprint(i+2), phase)
		deliver(t, h, modified(pods, o, now, i+1))
		o = now
	}
	deliver(t, h, deleted(pods, o, 10))
	past, _ := h.inventory.History("pods/u1")
	row := decode(t, past.Entry.ViewData.(*rowView).appendTo(nil))
	want := map[string]string{
		"first": "1.789e+12", "changed": "1.78900001e+12", "ended": "1.78900001e+12", "changes": "4", "name": "a", "namespace": "shop",
		"labels": "map[app:a]", "created": "1.767323045e+12",
		"segments": "[[1.789e+12 InProgress] [1.789000002e+12 Failed]]",
		"ticks":    "[1.789e+12 1.789000001e+12 1.789000002e+12 1.78900001e+12]",
	}
	for name, value := range want {
		if row.text(name) != value {
			t.Errorf("%s: %s, not %s", name, row.text(name), value)
		}
	}
}

// TestTurned tests that a workload fails with a pod that runs between two crashes, and that both recover when the crash loop
// ends by time. Neither is in the feed.
func TestTurned(t *testing.T) {
	h := newHub()
	sets := event.Target{Mapping: event.NewMapping(schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "statefulsets"}, "StatefulSet", true)}
	set := objectOf("apps/v1", "StatefulSet", "web", "s", "1", `,"generation":1},"spec":{"replicas":1},"status":{"observedGeneration":1,"replicas":1,"readyReplicas":1,"currentReplicas":1,"updatedReplicas":1,"currentRevision":"a","updateRevision":"a"}`)
	clock := func(second int) string { return at(second).UTC().Format(time.RFC3339) }
	loops := object("Pod", "web-0", "p", "2", `,"ownerReferences":[{"apiVersion":"apps/v1","kind":"StatefulSet","name":"web","uid":"s","controller":true}]},"spec":{},`+
		`"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}],"containerStatuses":[{"name":"app","restartCount":3,"ready":true,"state":{"running":{"startedAt":"`+clock(0)+`"}},"lastState":{"terminated":{"reason":"Error","exitCode":1,"startedAt":"`+clock(-40)+`","finishedAt":"`+clock(-20)+`"}}}]}`)
	deliver(t, h, added(sets, set, 0))
	last := h.log.last
	deliver(t, h, added(pods, loops, 1))
	turned := func() (all []string) {
		for _, m := range taken(t, h, last) {
			row, _ := m["row"].(map[string]any)
			all = append(all, fmt.Sprint(m["name"], " ", m["feed"], " ", row["status"]))
		}
		last = h.log.last
		return all
	}
	check := func(second int, want ...string) {
		t.Helper()
		h.refresh(at(second))
		got := turned()
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("second %d: got %q, want %q", second, got, want)
		}
	}
	check(10, "web false map[message:po/web-0 CrashLoopBackOff (exit 1, 3 restarts) state:Failed]",
		"web-0 true map[message:CrashLoopBackOff (exit 1, 3 restarts) state:Failed]")
	check(39)
	check(40, "web false map[state:Current]", "web-0 false map[state:Current]")
	check(60)
}

// TestDifferent tests that a change message has only the changed members of a row.
func TestDifferent(t *testing.T) {
	h := newHub()
	rest := func(labels, phase string) string {
		return `,"labels":{` + labels + `}},"status":{"phase":"` + phase + `"}`
	}
	row := `{"columnDefinitions":[{"name":"Name"},{"name":"Phase"}],"cells":["a",%q]}`
	of := func(version, labels, phase string) event.Object {
		return object("Pod", "a", "u1", version, rest(labels, phase)).WithRow(fmt.Sprintf(row, phase))
	}
	one, two, three := of("1", `"app":"a"`, "Running"), of("2", `"app":"a"`, "Failed"), of("3", "", "Failed")
	deliver(t, h, added(pods, one, 0), modified(pods, one, two, 1), modified(pods, two, three, 2))
	var rows []string
	for _, m := range taken(t, h, 0) {
		if m["type"] == "change" {
			rows = append(rows, string(encode(m["row"])))
		}
	}
	if len(rows) != 3 || !strings.Contains(rows[0], `"name":"a"`) || !strings.Contains(rows[0], `"labels":{"app":"a"}`) {
		t.Fatalf("%q", rows)
	}
	if want := `{"cells":["a","Failed"],"status":{"message":"the pod failed","state":"Failed"}}`; rows[1] != want {
		t.Errorf("%s, want\n%s", rows[1], want)
	}
	if want := `{"labels":null}`; rows[2] != want {
		t.Errorf("%s, want\n%s", rows[2], want)
	}
}

// TestTime tests that the latest segments and ticks are retained, and the others counted.
func TestTime(t *testing.T) {
	d := rowView{row: []byte(`{"key":"k"}`)}
	for i := range int64(300) {
		d.enter(i, []string{"Current", "InProgress"}[i%2])
		d.tick(i)
	}
	row := decode(t, d.appendTo(nil))
	if n := len(row["segments"].([]any)); n != maxSegments || row.number("segmentsMore") != 300-maxSegments {
		t.Errorf("%d segments, %v more", n, row["segmentsMore"])
	}
	if n := len(row["ticks"].([]any)); n != maxTicks || row.number("ticksMore") != 300-maxTicks {
		t.Errorf("%d ticks, %v more", n, row["ticksMore"])
	}
	if first := row["ticks"].([]any)[0]; first != 200.0 {
		t.Errorf("the first tick is %v", first)
	}
}

// TestEnded tests that the number of retained deleted objects is limited.
func TestEnded(t *testing.T) {
	h := newHub()
	for i := range maxEnded + 5 {
		o := pod(fmt.Sprint("p", i), fmt.Sprint("u", i), fmt.Sprint(i+1), "Running")
		deliver(t, h, added(pods, o, i), deleted(pods, o, i))
	}
	ended := h.inventory.ListDeleted()
	if len(ended) != maxEnded || ended[0].Entry.ID != "pods/u5" {
		t.Errorf("%d ended, first %s", len(ended), ended[0].Entry.ID)
	}
}

// TestHistory tests that the history of an object with repeated changes has the first and the last of each, with their
// number, and does not displace the history of other objects.
func TestHistory(t *testing.T) {
	h := newHub()
	deliver(t, h, added(pods, pod("quiet", "q", "1", "Running"), 0))
	o := pod("loud", "l", "1", "Running")
	deliver(t, h, added(pods, o, 0))
	for i := range 5000 {
		now := pod("loud", "l", fmt.Sprint(i+2), []string{"Pending", "Running"}[i%2])
		deliver(t, h, modified(pods, o, now, i))
		o = now
	}
	history := func(key string) history {
		past, _ := h.inventory.History(key)
		d := h.detail(past.Entry)
		d.History.add(h, past.States)
		return d.History
	}
	loud := history("pods/l")
	var told []string
	for _, item := range loud.Items {
		m := decode(t, item)
		told = append(told, fmt.Sprint(m["event"], m.number("time")-uint64(at(0).UnixMilli()), m["times"]))
	}
	if want := "[ADDED0 <nil> MODIFIED0 <nil> MODIFIED1000 <nil> MODIFIED4998000 2500 MODIFIED4999000 2500]"; fmt.Sprint(told) != want || loud.Dropped != 0 {
		t.Errorf("%d dropped, and\n%s, want\n%s", loud.Dropped, told, want)
	}
	if quiet := history("pods/q"); len(quiet.Items) != 1 || quiet.Dropped != 0 {
		t.Errorf("of the quiet one: %+v", quiet)
	}
	for i := range 100 { // each in a way of its own
		now := object("Pod", "loud", "l", fmt.Sprint(i+6000), fmt.Sprintf(`,"labels":{"l%d":""}},"status":{"phase":"Running"}`, i))
		deliver(t, h, modified(pods, o, now, i+6000))
		o = now
	}
	if loud := history("pods/l"); len(loud.Items) != maxHistory || loud.Dropped != 5101-maxHistory {
		t.Errorf("%d changes, %d dropped", len(loud.Items), loud.Dropped)
	}
}

// TestHistoryGap tests that a change is not attributed the changes of evicted states.
func TestHistoryGap(t *testing.T) {
	h := newHub()
	o := object("Pod", "a", "u1", "1", `},"n":0`)
	deliver(t, h, added(pods, o, 0))
	for i := range 300 {
		rest := fmt.Sprintf(`},"n":%d`, i%2)
		switch {
		case i == 150:
			rest = `,"labels":{"by":"hand"}},"n":1` // nothing else
		case i > 150:
			rest = `,"labels":{"by":"hand"}` + rest
		}
		now := object("Pod", "a", "u1", fmt.Sprint(i+2), rest)
		deliver(t, h, modified(pods, o, now, i+1))
		o = now
	}
	past, _ := h.inventory.History("pods/u1")
	var d history
	d.add(h, past.States)
	known := 0
	for _, item := range d.Items {
		m := decode(t, item)
		if m["event"] != "MODIFIED" {
			continue
		}
		if changes, _ := m["changes"].([]any); len(changes) == 1 {
			known++
		} else if len(changes) > 0 || m.text("text") != "changed, details unknown: intermediate states were dropped" {
			t.Errorf("%v", m)
		}
	}
	if known < 2 || known == len(d.Items)-1 {
		t.Errorf("of %d items %d are known", len(d.Items), known)
	}
}

// TestCameAndWent tests that the history of an object that was added and deleted has nothing twice.
func TestCameAndWent(t *testing.T) {
	h := newHub()
	o := pod("a", "u1", "1", "Running")
	deliver(t, h, added(pods, o, 0), deleted(pods, o, 5))
	past, _ := h.inventory.History("pods/u1")
	d := h.detail(past.Entry)
	d.History.add(h, past.States)
	for _, item := range d.History.Items {
		if m := decode(t, item); m["times"] != nil {
			t.Errorf("%v", m)
		}
	}
	if len(d.History.Items) != 2 || d.History.Dropped != 0 {
		t.Errorf("%d items, %d dropped", len(d.History.Items), d.History.Dropped)
	}
}

// TestMarks tests the watch messages: the state of each target, and of all together.
func TestMarks(t *testing.T) {
	h := newHub()
	mark := func(kind event.Type, target event.Target, err error) event.Event {
		return event.Event{Type: kind, Target: target, Time: at(1), Err: err, Count: 3}
	}
	tests := []struct {
		event       event.Event
		target, all string
		text        string
		feed        bool
	}{
		{mark(event.Synced, pods, nil), "live", "live", "<nil>", false},
		{mark(event.Disconnected, pods, fmt.Errorf("broken pipe")), "lost", "degraded", "connection lost, trying again: broken pipe", true},
		{mark(event.Gap, pods, nil), "live", "live", "reconnected; relisted: only intermediate states may be missing", true},
		{mark(event.Gap, pods, nil), "live", "live", "relisted: only intermediate states may be missing", true},
		{mark(event.Disconnected, pods, fmt.Errorf("broken pipe")), "lost", "degraded", "connection lost, trying again: broken pipe", true},
		{mark(event.Reconnected, pods, nil), "live", "live", "reconnected, nothing missed", true},
		{mark(event.Denied, secrets, fmt.Errorf("no")), "denied", "degraded", "the right to watch is missing, trying again: no", true},
		{mark(event.Gone, secrets, nil), "gone", "live", "the server no longer has the resource; waiting for it", true},
		{mark(event.Arrived, secrets, nil), "starting", "starting", "the server has the resource; watching it", true},
	}
	for _, test := range tests {
		last := h.log.last
		deliver(t, h, test.event)
		got := taken(t, h, last)
		m := got[len(got)-1] // before it may come a resource
		target, watch := message(m["target"].(map[string]any)), message(m["watch"].(map[string]any))
		if target["state"] != test.target || watch["state"] != test.all || m.text("text") != test.text || m["feed"] != test.feed {
			t.Errorf("%s: %v", test.event.Type, m)
		}
	}
	// What a wider target covers is a target no more.
	narrow := pods
	narrow.Namespace, narrow.Name = "a", "one"
	wide := narrow
	wide.Name = ""
	deliver(t, h, mark(event.Disconnected, narrow, nil), mark(event.Arrived, wide, nil), mark(event.Synced, wide, nil), mark(event.Synced, secrets, nil))
	for _, one := range h.targets.list() {
		if one.State != "live" || one.Name != "" {
			t.Errorf("it is covered: %+v", one)
		}
	}
	if state := h.targets.watch().State; state != "live" {
		t.Errorf("the remaining target is live, but the state of the watch is %s", state)
	}
	if r := h.resources["secrets"]; r == nil || r.Kind != "Secret" {
		t.Errorf("the resource of a mark: %+v", r)
	}
}

// TestColumns tests that cells come with the server's columns, and that viewers get new columns.
func TestColumns(t *testing.T) {
	h := newHub()
	row := `{"columnDefinitions":[{"name":"Name","type":"string","format":"name","priority":0},{"name":"Restarts","type":"integer","format":"","priority":0},{"name":"Age","type":"string","format":"","priority":0},{"name":"Node","type":"string","format":"","priority":1}],"cells":["a",3,"5m",{"x":1},"more than columns"]}`
	last := h.log.last
	deliver(t, h, added(pods, pod("a", "u1", "1", "Running").WithRow(row), 0), added(pods, pod("b", "u2", "2", "Running").WithRow(row), 0))
	got := taken(t, h, last)
	if len(got) != 3 || got[0]["type"] != "resource" {
		t.Fatalf("%v", got)
	}
	columns := got[0]["resource"].(map[string]any)["columns"].([]any)
	if len(columns) != 4 || fmt.Sprint(columns[3]) != "map[format: name:Node priority:1 type:string]" {
		t.Errorf("columns: %v", columns)
	}
	if cells := got[1]["row"].(map[string]any)["cells"]; fmt.Sprintf("%q", cells) != `["a" %!q(float64=3) <nil> "{\"x\":1}"]` {
		t.Errorf("cells: %q", cells)
	}
}

// TestAges tests that ages from the server are not sent, as they are outdated at once.
func TestAges(t *testing.T) {
	h := newHub()
	for i, test := range []struct{ column, cell, want string }{
		{`{"name":"Age","type":"string"}`, `"5m"`, "<nil>"},
		{`{"name":"Last Seen","type":"string"}`, `"57s"`, "<nil>"},
		{`{"name":"First Seen","type":"string","priority":1}`, `"2m"`, "<nil>"},
		{`{"name":"Last Schedule","type":"string"}`, `"45s"`, "<nil>"},
		{`{"name":"Expires","type":"date"}`, `"89d"`, "<nil>"},
		{`{"name":"Restarts","type":"string"}`, `"3 (5m ago)"`, "3"},
		{`{"name":"Restarts","type":"string"}`, `"0"`, "0"},
		{`{"name":"Note","type":"string"}`, `"3 (5m ago)"`, "3 (5m ago)"},
	} {
		last := h.log.last
		row := `{"columnDefinitions":[` + test.column + `],"cells":[` + test.cell + `]}`
		deliver(t, h, added(pods, pod("a", fmt.Sprint("u", i), "1", "Running").WithRow(row), 0))
		all := taken(t, h, last)
		cells := all[len(all)-1]["row"].(map[string]any)["cells"].([]any)
		if got := fmt.Sprint(cells[0]); got != test.want {
			t.Errorf("%s %s: %s", test.column, test.cell, got)
		}
	}
}

// TestCounts tests that a cell that the server computes as the time since a timestamp in the object is sent as that
// timestamp, and other cells are not.
func TestCounts(t *testing.T) {
	t.Parallel()
	target := func(group, resource, kind string) event.Target {
		return event.Target{Mapping: event.NewMapping(schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource}, kind, true)}
	}
	jobs, cronJobs := target("batch", "jobs", "Job"), target("batch", "cronjobs", "CronJob")
	events, newEvents := target("", "events", "Event"), target("events.k8s.io", "events", "Event")
	others := target("example.com", "jobs", "Job")
	const early, late = `"1970-01-01T00:00:05Z"`, `"1970-01-01T00:00:09.250000Z"`
	for i, test := range []struct {
		target                event.Target
		column, cell, content string
		want                  string
	}{
		{jobs, "Duration", `"5m"`, `"status":{"startTime":` + early + `}`, "5000"},
		{jobs, "Duration", `"4s"`, `"status":{"startTime":` + early + `,"completionTime":` + late + `}`, "4s"},
		{jobs, "Duration", `""`, `"status":{}`, "<nil>"},
		{others, "Duration", `"5m"`, `"status":{"startTime":` + early + `}`, "5m"},
		{cronJobs, "Last Schedule", `"5m"`, `"status":{"lastScheduleTime":` + early + `}`, "5000"},
		{cronJobs, "Last Schedule", `"<none>"`, `"status":{}`, "<nil>"},
		{others, "Last Schedule", `"5m"`, `"status":{"lastScheduleTime":` + early + `}`, "<nil>"},
		{events, "Last Seen", `"5m"`, `"lastTimestamp":` + early + `,"firstTimestamp":` + early, "5000"},
		{events, "Last Seen", `"5m"`, `"lastTimestamp":null,"firstTimestamp":null,"eventTime":` + late, "9250"},
		{newEvents, "Last Seen", `"5m"`, `"deprecatedLastTimestamp":` + early + `,"series":{"lastObservedTime":` + late + `}`, "9250"},
		{newEvents, "First Seen", `"5m"`, `"deprecatedFirstTimestamp":` + early, "5000"},
		{events, "Last Seen", `"<unknown>"`, `"lastTimestamp":"soon"`, "<nil>"},
	} {
		h := newHub()
		row := `{"columnDefinitions":[{"name":"` + test.column + `","type":"string"}],"cells":[` + test.cell + `]}`
		kind := test.target.Mapping.GroupVersionKind.Kind
		deliver(t, h, added(test.target, object(kind, "a", "u1", "1", "},"+test.content).WithRow(row), i))
		var told, cell any
		for _, m := range taken(t, h, 0) {
			switch m["type"] {
			case "resource":
				if columns := m["resource"].(map[string]any)["columns"].([]any); len(columns) > 0 {
					told = columns[0].(map[string]any)["counts"]
				}
			case "change":
				cell = m["row"].(map[string]any)["cells"].([]any)[0]
			}
		}
		if fmt.Sprint(cell) != test.want || (told == true) == (test.target == others) {
			t.Errorf("%s of %s: %v (counts: %v)", test.column, test.content, cell, told)
		}
	}
}
