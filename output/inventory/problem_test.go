package inventory

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
	"dwatch/watcher/object/owner"
)

// Statuses of a pod.
const (
	crashing = `,"status":{"phase":"Running","containerStatuses":[{"name":"app","restartCount":3,"ready":false,"state":{"waiting":{"reason":"CrashLoopBackOff"}},"lastState":{"terminated":{"reason":"Error","exitCode":1}}}]}`
	working  = `,"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}],"containerStatuses":[{"name":"app","ready":true,"state":{"running":{}}}]}`
	unpulled = `,"status":{"phase":"Pending","containerStatuses":[{"name":"app","ready":false,"state":{"waiting":{"reason":"ImagePullBackOff","message":"Back-off pulling image \"web:9\""}}}]}`
)

// TestProblems checks that problems are grouped by root, with their start and the change before them.
func TestProblems(t *testing.T) {
	deploys, sets := target("apps", "deployments", "Deployment"), target("apps", "replicasets", "ReplicaSet")
	const image, none = `{"f:spec":{"f:image":{}}}`, `{"f:status":{}}`
	spec := func(n int) string { return fmt.Sprintf(`,"spec":{"image":"web:%d"}`, n) }
	made := func(o event.Object) event.Object { // kstatus reads the creation time
		return event.NewObject(o.Identity, strings.Replace(o.Raw(), `"metadata":{`, `"metadata":{"creationTimestamp":"2026-01-31T08:55:00Z",`, 1))
	}
	compare := &change.Options{Noise: change.DefaultNoise()}
	for _, options := range []Options{{}, {Compare: compare}, {Compare: compare, WithoutContent: true}} {
		s := newSeen(t, options)
		second, olds := 0, map[types.UID]event.Object{}
		deliver := func(kind event.Type, on event.Target, initial bool, o event.Object) {
			e := of(kind, made(o), second)
			e.Target, e.Initial = on, initial
			if kind == event.Modified {
				e.Old = olds[o.UID]
			}
			olds[o.UID] = e.Object
			s.deliver(e)
		}
		version := 0
		pod := func(name, owner, status string) event.Object {
			version++
			return part("Pod", name, owner, version, status, "kubelet", "status", none)
		}
		want := func(problems ...string) {
			t.Helper()
			var got []string
			for _, p := range s.Problems(start.Add(time.Duration(second)*time.Second), 10, change.Options{Noise: change.DefaultNoise()}) {
				text := fmt.Sprintf("%s %s ×%d", p.Root.Name, p.State.ReasonKey(), p.ObjectCount)
				if p.Failed {
					text += " failed"
				}
				if !p.Since.IsZero() {
					text += fmt.Sprint(" since ", p.Since.Sub(start).Seconds())
				}
				if !p.RecoveredAt.IsZero() {
					text += fmt.Sprint(" over ", p.RecoveredAt.Sub(start).Seconds())
				}
				if c := p.Cause; c != nil {
					text += " after " + strings.TrimPrefix(c.Manager+": ", ": ") + c.Summary
				}
				got = append(got, text)
			}
			if g, w := strings.Join(got, "\n"), strings.Join(problems, "\n"); g != w {
				t.Errorf("second %d:\n%s\nwant\n%s", second, g, w)
			}
		}
		deliver(event.Added, deploys, true, part("Deployment", "d", "", 1, spec(1), "maker", "", image))
		deliver(event.Added, sets, true, part("ReplicaSet", "r", "d", 1, spec(1), "maker", "", image))
		for _, name := range []string{"p1", "p2"} {
			deliver(event.Added, pods, true, pod(name, "r", working))
		}
		deliver(event.Added, pods, true, pod("old", "", crashing))
		want("old CrashLoopBackOff ×1 failed")
		deliver(event.Deleted, pods, false, pod("old", "", crashing))
		want()
		second = 4
		deliver(event.Modified, deploys, false, part("Deployment", "d", "", 4, spec(2), "kubectl-set", "", image))
		second = 10
		deliver(event.Modified, pods, false, pod("p1", "r", crashing))
		want("d CrashLoopBackOff ×1 failed since 10 after kubectl-set: image web:1 → web:2")
		second = 12
		deliver(event.Modified, deploys, false, part("Deployment", "d", "", 12, spec(3), "kubectl-set", "", image))
		deliver(event.Modified, pods, false, pod("p2", "r", crashing))
		deliver(event.Added, pods, false, pod("new", "", unpulled))
		want("d CrashLoopBackOff ×2 failed since 10 after kubectl-set: image web:1 → web:2")
		second = 20
		deliver(event.Modified, pods, false, pod("p1", "r", working))
		want("d CrashLoopBackOff ×1 failed since 10 after kubectl-set: image web:1 → web:2")
		second = 22 // beyond startTolerance
		want("d CrashLoopBackOff ×1 failed since 10 after kubectl-set: image web:1 → web:2",
			"new ImagePullBackOff ×1 since 12 after it was created")
		deliver(event.Modified, pods, false, pod("new", "", working))
		deliver(event.Modified, pods, false, pod("p2", "r", working))
		want("new ImagePullBackOff ×1 since 12 over 22 after it was created",
			"d CrashLoopBackOff ×2 failed since 10 over 22 after kubectl-set: image web:1 → web:2")
		second = 51 // p1 has recovered
		want("new ImagePullBackOff ×1 since 12 over 22 after it was created",
			"d CrashLoopBackOff ×1 failed since 12 over 22 after kubectl-set: image web:2 → web:3")
		second = 52
		want()
		second = 60 // not healthy in between
		deliver(event.Modified, pods, false, pod("p2", "r", crashing))
		want("d CrashLoopBackOff ×1 failed since 12 after kubectl-set: image web:2 → web:3")
		second = 70
		deliver(event.Modified, pods, false, pod("p2", "r", working))
		second = 70 + int(relapseWindow/time.Second) + 1
		want()
		deliver(event.Modified, pods, false, pod("p2", "r", crashing))
		want(fmt.Sprintf("d CrashLoopBackOff ×1 failed since %d after kubectl-set: image web:2 → web:3", second))
		deliver(event.Deleted, pods, false, pod("p2", "r", crashing))
		want()
	}
}

// TestRecoveredProblems checks that short episodes and ordinary deletions are not problems, that unhealthy and recovered
// objects are not counted together, and that a lasting problem is never reported as recovered.
func TestRecoveredProblems(t *testing.T) {
	const (
		none    = `{"f:status":{}}`
		starts  = `,"status":{"phase":"Running","conditions":[{"type":"Ready","status":"False"}],"containerStatuses":[{"name":"app","ready":false,"started":true,"state":{"running":{}}}]}`
		created = `"creationTimestamp":"2026-01-31T08:00:00Z",`
		goes    = created + `"deletionTimestamp":"2026-01-31T09:05:30Z","deletionGracePeriodSeconds":30,` // 300 s after the start
		went    = created + `"deletionTimestamp":"2026-01-31T08:50:30Z","deletionGracePeriodSeconds":30,`
		ofApp   = `,"status":{"phase":"Pending","containerStatuses":[{"name":"app","ready":false,"state":{"waiting":{"reason":"ImagePullBackOff","message":"x"}}},{"name":"b","ready":true,"state":{"running":{}}}]}`
		ofB     = `,"status":{"phase":"Running","containerStatuses":[{"name":"app","ready":true,"state":{"running":{}}},{"name":"b","restartCount":3,"ready":false,"state":{"waiting":{"reason":"CrashLoopBackOff"}},"lastState":{"terminated":{"reason":"OOMKilled","exitCode":137}}}]}`
		quota   = `,"spec":{"replicas":3},"status":{"replicas":1,"conditions":[{"type":"ReplicaFailure","status":"True","reason":"FailedCreate","message":"exceeded quota"}]}`
		evicted = `,"status":{"phase":"Failed","reason":"Evicted"}`
		current = `,"spec":{"replicas":0},"status":{"replicas":0,"observedGeneration":1}`
	)
	version := 0
	object := func(kind, name, owner, meta, rest string) event.Object {
		version++
		o := part(kind, name, owner, version, rest, "kubelet", "status", none)
		return event.NewObject(o.Identity, strings.Replace(o.Raw(), `"metadata":{`, `"metadata":{`+meta, 1))
	}
	type step struct {
		second  int
		kind    event.Type
		initial bool
		o       event.Object
		want    string // roots, reasons, counts, and whether the problem has ended
	}
	pod := func(name, meta, rest string) event.Object { return object("Pod", name, "", meta, rest) }
	ofSet := func(name, rest string) event.Object { return object("Pod", name, "r", created, rest) }
	set := func(rest string) event.Object { return object("ReplicaSet", "r", "", created+`"generation":1,`, rest) }
	for name, steps := range map[string][]step{
		"deletion of a pod that was unready for 3 s": {
			{0, event.Added, false, pod("a", created, starts), ""},
			{3, event.Modified, false, pod("a", created, working), ""},
			{300, event.Modified, false, pod("a", goes, working), ""},
			{419, "", false, event.Object{}, ""},
			{421, "", false, event.Object{}, "a ×1"},
		},
		"unready for a second": {
			{0, event.Added, false, pod("a", created, starts), ""},
			{3, event.Modified, false, pod("a", created, working), ""},
			{300, event.Modified, false, pod("a", created, starts), ""},
			{301, event.Modified, false, pod("a", created, working), ""},
		},
		"initial objects whose deletion was requested long ago, or recently": {
			{0, event.Added, true, pod("old", went, working), "old ×1"},
			{301, event.Added, true, pod("young", goes, working), "old ×1"},
		},
		"two reasons in pods of two containers": {
			{0, event.Added, false, ofSet("p1", ofApp), ""},
			{1, event.Added, false, ofSet("p2", ofB), "r ×1"},
			{30, "", false, event.Object{}, "r ×1\nr ×1"},
		},
		"two of three recovered": {
			{0, event.Added, false, ofSet("p1", crashing), "r ×1"},
			{0, event.Added, false, ofSet("p2", crashing), "r ×2"},
			{0, event.Added, false, ofSet("p3", crashing), "r ×3"},
			{40, event.Modified, false, ofSet("p1", working), "r ×2"},
			{41, event.Modified, false, ofSet("p2", working), "r ×1"},
			{42, event.Modified, false, ofSet("p3", working), "r ×3 over"},
		},
		"a failing set with a recovered pod": {
			{0, event.Added, false, set(quota), ""},
			{30, event.Added, false, ofSet("p1", crashing), "r ×1"},
			{60, event.Modified, false, ofSet("p1", working), "r ×1\nr ×1 over"},
		},
		"a failed pod that was replaced": {
			{0, event.Added, false, set(current), ""},
			{1, event.Added, false, ofSet("p1", evicted), ""},
			{2, event.Added, false, pod("alone", created, evicted), "alone ×1"},
		},
	} {
		s := newSeen(t, Options{})
		for _, step := range steps {
			if step.kind != "" {
				e := of(step.kind, step.o, step.second)
				e.Initial = step.initial
				if step.o.Kind == "ReplicaSet" {
					e.Target = target("apps", "replicasets", "ReplicaSet")
				}
				s.deliver(e)
			}
			var got []string
			for _, p := range s.Problems(start.Add(time.Duration(step.second)*time.Second), 10, change.Options{}) {
				text := fmt.Sprintf("%s ×%d", p.Root.Name, p.ObjectCount)
				if !p.RecoveredAt.IsZero() {
					text += " over"
				}
				got = append(got, text)
			}
			if got := strings.Join(got, "\n"); got != step.want {
				t.Errorf("%s, second %d: %q, want %q", name, step.second, got, step.want)
			}
		}
	}
}

// TestShortEpisodes checks that short episodes are released even if Problems is never called.
func TestShortEpisodes(t *testing.T) {
	s := newSeen(t, Options{})
	const starts = `,"status":{"phase":"Running","conditions":[{"type":"Ready","status":"False"}],"containerStatuses":[{"name":"app","ready":false,"started":true,"state":{"running":{}}}]}`
	for n, status := range []string{starts, working} {
		o := part("Pod", "a", "", n+1, status, "kubelet", "status", `{"f:status":{}}`)
		kind := []event.Type{event.Added, event.Modified}[n]
		s.deliver(of(kind, event.NewObject(o.Identity, strings.Replace(o.Raw(), `"metadata":{`, `"metadata":{"creationTimestamp":"2026-01-31T08:55:00Z",`, 1)), 3*n))
		if got := len(s.problems.unhealthy); got != 1-n {
			t.Errorf("event %d: got %d unhealthy objects", n, got)
		}
	}
}

// TestInitialProblems checks that an initial object that has been unhealthy for long is a problem at once.
func TestInitialProblems(t *testing.T) {
	s := newSeen(t, Options{})
	waits := func(name, since string) event.Event {
		return of(event.Added, object("Pod", name, name, "1", `},"status":{"phase":"Pending","conditions":[{"type":"Ready","status":"False","lastTransitionTime":"`+since+`"}],`+
			`"containerStatuses":[{"name":"c","state":{"waiting":{"reason":"ImagePullBackOff","message":"no"}}}]}`), 0)
	}
	for name, since := range map[string]time.Duration{"long": -time.Minute, "new": -time.Second} {
		e := waits(name, start.Add(since).UTC().Format(time.RFC3339))
		e.Initial = true
		s.deliver(e)
	}
	for _, test := range []struct {
		at   time.Duration
		want string
	}{{0, "[long]"}, {startTolerance, "[long new]"}} {
		var names []string
		for _, p := range s.Problems(start.Add(test.at), 0, change.Options{}) {
			names = append(names, p.Root.Name)
		}
		if got := fmt.Sprint(names); got != test.want {
			t.Errorf("after %s: %s, want %s", test.at, got, test.want)
		}
	}
}

// TestProblemsClock checks that problems are found although the local clock is behind the server's or is put back.
func TestProblemsClock(t *testing.T) {
	const (
		ahead  = `"creationTimestamp":"2026-01-31T18:00:00Z",`
		goes   = ahead + `"deletionTimestamp":"2026-01-31T18:00:30Z","deletionGracePeriodSeconds":30,`
		starts = `,"status":{"phase":"Running","conditions":[{"type":"Ready","status":"False","lastTransitionTime":"2026-01-31T18:00:01Z"}],"containerStatuses":[{"name":"app","ready":false,"started":true,"state":{"running":{}}}]}`
	)
	pod := func(name, meta, status string) event.Object {
		o := part("Pod", name, "", 1, status, "kubelet", "status", `{"f:status":{}}`)
		return event.NewObject(o.Identity, strings.Replace(o.Raw(), `"metadata":{`, `"metadata":{`+meta, 1))
	}
	s := newSeen(t, Options{})
	for _, o := range []event.Object{pod("fails", ahead, crashing), pod("goes", goes, working), pod("starts", ahead, starts)} {
		e := of(event.Added, o, 0)
		e.Initial = true
		s.deliver(e)
	}
	for _, test := range []struct {
		at   time.Duration
		want string
	}{
		{0, "[fails]"}, {startTolerance - 1, "[fails]"}, {startTolerance, "[fails starts]"}, {deletionTolerance, "[fails goes starts]"},
		{-time.Second, "[fails]"}, {-time.Hour, "[fails goes starts]"},
	} {
		var names []string
		for _, p := range s.Problems(start.Add(test.at), 0, change.Options{}) {
			names = append(names, p.Root.Name)
			if p.Since.After(start) {
				t.Errorf("after %s: %s since %s", test.at, p.Root.Name, p.Since)
			}
		}
		if got := fmt.Sprint(names); got != test.want {
			t.Errorf("after %s: %s, want %s", test.at, got, test.want)
		}
	}
}

// TestProblemText checks the text of problems, including the escaping of control characters.
func TestProblemText(t *testing.T) {
	now := start.Add(time.Minute)
	p := Problem{Root: owner.Ref{Namespace: "shop", Name: "we\u009bb"}, Resource: schema.GroupResource{Resource: "deployments"}, State: &State{Summary: Summary{Message: "CrashLoopBackOff\x1b[2J"}}, ObjectCount: 3, Failed: true,
		Since: start, Cause: &Cause{Manager: "kubectl", Summary: "image 1 → 2"}}
	short := func(schema.GroupResource) string { return "deploy" }
	w := p.Describe(now, NameOptions{ShortName: short, ShowNamespaces: true})
	got := fmt.Sprint(string(w.Sign), "|", w.Subject, "|", w.Reason, "|", w.When, "|", w.Cause)
	want := `✗|shop deploy/we\u009bb|CrashLoopBackOff\u001b[2J ×3|since ` + start.Local().Format(time.TimeOnly) + `|kubectl: image 1 → 2`
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	p.State.Message = "CrashLoopBackOff (exit 1, 5 restarts): no file"
	w = p.Describe(now, NameOptions{ShortName: short})
	for room, want := range map[int]string{120: "no file ×3|since|after", 102: "restarts) ×3|since|after", 90: "(exit 1) ×3|since|after", 81: "Off ×3|since|after", 75: "restarts) ×3|since|", 62: "(exit 1) ×3|since|", 53: "Off ×3|since|", 20: "no file ×3||"} {
		why, when, after := w.Fit(room, func(text string) int { return len([]rune(text)) })
		when, _, _ = strings.Cut(when, " ")
		after, _, _ = strings.Cut(after, " ")
		if got := why + "|" + when + "|" + after; !strings.HasSuffix(got, want) {
			t.Errorf("in %d columns: got %s, want %s", room, got, want)
		}
	}
	p.Cause = &Cause{Manager: "argocd", Summary: "image registry/web:1.27 → registry/web:1.28", ShortSummary: "image 1.27 → 1.28"}
	w = p.Describe(now, NameOptions{ShortName: short})
	for room, want := range map[int]string{
		115: "Off ×3 after argocd: image registry/web:1.27 → registry/web:1.28", 110: "restarts) ×3 after argocd: image 1.27 → 1.28",
		90: "Off ×3 after argocd: image 1.27 → 1.28", 80: "restarts) ×3 ",
	} {
		why, _, after := w.Fit(room, func(text string) int { return len([]rune(text)) })
		if got := why + " " + after; !strings.HasSuffix(got, want) {
			t.Errorf("in %d columns: got %s, want %s", room, got, want)
		}
	}
	p.RecoveredAt = start.Add(40 * time.Second)
	if w := p.Describe(now, NameOptions{ShortName: short}); string(w.Sign)+w.Subject+w.When+w.Cause != `●deploy/we\u009bbrecovered 20s ago` {
		t.Errorf("%+v", w)
	}
}

// TestSummarizeImage checks that the repository of an image is only left out if it did not change.
func TestSummarizeImage(t *testing.T) {
	for _, test := range []struct{ before, after, want string }{
		{"nginx:1.27", "nginx:1.28", "image 1.27 → 1.28"},
		{"example.com:5000/a/web:7", "example.com:5000/a/web:8", "image 7 → 8"},
		{"nginx:1.27", "other:1.28", ""},
		{"nginx", "nginx:1.28", ""},
		{"example.com:5000/web", "example.com:5000/api", ""},
		{"web@sha256:aa", "web@sha256:bb", ""},
	} {
		c := change.Change{Path: change.Path{{Field: "image"}}, Old: test.before, New: test.after}
		if got := summarizeImage(&c); got != test.want {
			t.Errorf("%s → %s: %q, want %q", test.before, test.after, got, test.want)
		}
	}
}

// TestShorterReasons checks that reasons are cut at the end of a part to fit the room.
func TestShorterReasons(t *testing.T) {
	got := strings.Join(shorterReasons("FailedCreate: exceeded quota: few, requested: pods=1"), "|")
	if want := "FailedCreate: exceeded quota: few, requested…|FailedCreate: exceeded quota: few…|FailedCreate: exceeded quota…|FailedCreate"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	got = strings.Join(shorterReasons(`FailedMount: volume "config": configmap "shop" not found`), "|")
	if want := `FailedMount: configmap "shop" not found|configmap "shop" not found|FailedMount`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	got = strings.Join(shorterReasons("FailedCreate: no PriorityClass with name nosuch was found (3 min ago)"), "|")
	if want := "no PriorityClass with name nosuch was found (3 min ago)|no PriorityClass with name nosuch was found|FailedCreate"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	got = strings.Join(shorterReasons("CrashLoopBackOff (exit 1, 5 restarts): panic: at a.go:7"), "|")
	if want := "CrashLoopBackOff (exit 1, 5 restarts): panic…|CrashLoopBackOff (exit 1, 5 restarts)|CrashLoopBackOff (exit 1)|CrashLoopBackOff"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestExplainedByWarning checks that an object in progress without a reason is a problem if a recent Warning about it,
// retained or looked up, gives one. Nothing is looked up for healthy objects.
func TestExplainedByWarning(t *testing.T) {
	const creating = `},"status":{"phase":"Pending","containerStatuses":[{"name":"app","ready":false,"state":{"waiting":{"reason":"ContainerCreating"}}}]}`
	warns := func(version, about, last string) event.Object {
		id := &event.Identity{APIVersion: "v1", Kind: "Event", Namespace: "shop", Name: "e" + version, UID: types.UID("e" + version), ResourceVersion: version}
		return event.NewObject(id, fmt.Sprintf(`{"apiVersion":"v1","kind":"Event","metadata":{"name":%q,"namespace":"shop","uid":%[1]q},"type":"Warning","reason":"FailedMount","message":"MountVolume.SetUp failed for volume \"config\" : configmap \"settings\" not found",`+
			`"involvedObject":{"kind":"Pod","namespace":"shop","name":%q,"uid":%[2]q},"lastTimestamp":%q}`, id.Name, about, last))
	}
	for _, retained := range []bool{true, false} {
		for _, options := range []Options{{}, {Compare: &change.Options{}, WithoutContent: true}, {FullHistory: true}} {
			asked := map[string]bool{}
			if !retained {
				options.LookupWarning = func(_ string, o owner.Ref) (string, time.Time) {
					asked[o.Name] = true
					return map[string]string{"a": `FailedMount: volume "config": configmap "settings" not found`}[o.Name], start.Add(20 * time.Second)
				}
			}
			s := newSeen(t, options)
			settings := of(event.Added, object("ConfigMap", "settings", "s", "9", `}`), 0)
			settings.Target = target("", "configmaps", "ConfigMap")
			gone := settings
			gone.Type, gone.Time = event.Deleted, start.Add(time.Second)
			s.deliver(settings, gone)
			s.deliver(of(event.Added, object("Pod", "a", "a", "1", creating), 2), of(event.Added, object("Pod", "b", "b", "1", creating), 2), of(event.Added, object("Pod", "well", "well", "1", `},"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}`), 2))
			if retained {
				for version, about := range []string{"a", "other"} {
					e := of(event.Added, warns(fmt.Sprint(version), about, "2026-01-31T09:00:20Z"), 3)
					e.Target = target("", "events", "Event")
					s.deliver(e)
				}
			}
			for _, test := range []struct {
				second int
				want   string
			}{
				{5, "[]"}, {30, `[a FailedMount: volume "config": configmap "settings" not found]`},
				{20 + 3*60 + 5, `[a FailedMount: volume "config": configmap "settings" not found (3 min ago)]`}, {20 + 3700, "[]"},
			} {
				var got []string
				for _, p := range s.Problems(start.Add(time.Duration(test.second)*time.Second), 10, change.Options{}) {
					got = append(got, p.Root.Name+" "+p.State.Message)
					if p.NamedCause == nil || p.NamedCause.Summary != "it was deleted" || p.Since != start.Add(2*time.Second) {
						t.Errorf("%+v since %s", p.NamedCause, p.Since)
					}
				}
				if fmt.Sprint(got) != test.want {
					t.Errorf("retained %t, %+v, second %d: %s, want %s", retained, options, test.second, got, test.want)
				}
			}
			if asked["well"] || !retained && !asked["b"] {
				t.Errorf("looked up Warnings about %v", asked)
			}
			if len(s.problems.unhealthy) > 0 {
				t.Errorf("%d objects are still unhealthy", len(s.problems.unhealthy))
			}
		}
	}
}

// TestOldWarnings checks that a Warning from before the episode does not count. For initial objects, only the conditions can show when
// the episode began.
func TestOldWarnings(t *testing.T) {
	const (
		well     = `,"spec":{"replicas":2},"status":{"replicas":2,"readyReplicas":2,"currentReplicas":2,"updatedReplicas":2,"availableReplicas":2,"observedGeneration":1,"currentRevision":"a","updateRevision":"a"}`
		rolling  = `,"spec":{"replicas":2},"status":{"replicas":2,"readyReplicas":1,"currentReplicas":1,"updatedReplicas":1,"availableReplicas":1,"observedGeneration":1,"currentRevision":"a","updateRevision":"b"}`
		creating = `,"status":{"phase":"Pending","conditions":[{"type":"Initialized","status":"True","lastTransitionTime":"2026-01-31T08:59:30Z"}],"containerStatuses":[{"name":"app","ready":false,"state":{"waiting":{"reason":"ContainerCreating"}}}]}`
		said     = "FailedCreate: exceeded quota: few"
	)
	sets := target("apps", "statefulsets", "StatefulSet")
	db := func(kind string, version int, rest string) event.Object {
		o := part(kind, "db", "", version, rest, "kube-controller-manager", "status", `{"f:status":{}}`)
		return event.NewObject(o.Identity, strings.Replace(o.Raw(), `"metadata":{`, `"metadata":{"creationTimestamp":"2026-01-31T08:55:00Z","generation":1,`, 1))
	}
	for name, test := range map[string]struct {
		initial bool
		states  []string // of a StatefulSet with the second state at 50 min, or of a pod
		warned  time.Duration
		at      time.Duration
		want    string
	}{
		"long before a rollout":          {false, []string{well, rolling}, time.Minute, 51 * time.Minute, ""},
		"during a rollout":               {false, []string{well, rolling}, 50*time.Minute + 5*time.Second, 51 * time.Minute, said},
		"one second before a rollout":    {false, []string{well, rolling}, 50*time.Minute - time.Second, 51 * time.Minute, said + " (1 min ago)"},
		"initial, after its creation":    {true, []string{rolling}, -4 * time.Minute, time.Minute, said + " (5 min ago)"},
		"initial, before its creation":   {true, []string{rolling}, -6 * time.Minute, time.Minute, ""},
		"initial, after its conditions":  {true, nil, -20 * time.Second, 30 * time.Second, said},
		"initial, before its conditions": {true, nil, -time.Minute, 30 * time.Second, ""},
	} {
		for _, options := range []Options{{}, {Compare: &change.Options{}, WithoutContent: true}, {FullHistory: true}} {
			options.LookupWarning = func(string, owner.Ref) (string, time.Time) { return said, start.Add(test.warned) }
			s := newSeen(t, options)
			for n, state := range test.states {
				e := of([]event.Type{event.Added, event.Modified}[n], db("StatefulSet", n+1, state), n*50*60)
				e.Target, e.Initial = sets, test.initial
				s.deliver(e)
			}
			if test.states == nil {
				e := of(event.Added, db("Pod", 1, creating), 0)
				e.Initial = test.initial
				s.deliver(e)
			}
			got := ""
			for _, p := range s.Problems(start.Add(test.at), 10, change.Options{}) {
				got += p.State.Message
			}
			if got != test.want {
				t.Errorf("%s, %+v: %q, want %q", name, options, got, test.want)
			}
		}
	}
}

// TestLookupWarning checks that Warnings are looked up only if Events about the object are not watched or are filtered.
func TestLookupWarning(t *testing.T) {
	const creating = `},"status":{"phase":"Pending","containerStatuses":[{"name":"app","ready":false,"state":{"waiting":{"reason":"ContainerCreating"}}}]}`
	events := func(group, cluster, namespace, name string) event.Target {
		to := target(group, "events", "Event")
		to.Cluster, to.Namespace, to.Name = cluster, namespace, name
		return to
	}
	status := func(kind event.Type, of event.Target) event.Event {
		return event.Event{Type: kind, Target: of, Time: start}
	}
	other := of(event.Added, object("Event", "e", "e", "1", `},"type":"Warning","reason":"X","message":"m","involvedObject":{"apiVersion":"v1","kind":"Pod","namespace":"shop","name":"q"},"lastTimestamp":"2026-01-31T09:00:20Z"`), 0)
	other.Target = events("", "", "shop", "")
	for name, test := range map[string]struct {
		at   []event.Target
		then []event.Event
		some bool
		want bool
	}{
		"no Events":                    {nil, nil, false, true},
		"in the namespace":             {[]event.Target{events("", "", "shop", "")}, nil, false, false},
		"in all namespaces":            {[]event.Target{events("", "", "", "")}, nil, false, false},
		"in events.k8s.io":             {[]event.Target{events("events.k8s.io", "", "", "")}, nil, false, false},
		"in another namespace":         {[]event.Target{events("", "", "other", "")}, nil, false, true},
		"in another cluster":           {[]event.Target{events("", "eu", "", "")}, nil, false, true},
		"only one name":                {[]event.Target{events("", "", "shop", "e")}, nil, false, true},
		"filtered":                     {[]event.Target{events("", "", "shop", "")}, nil, true, true},
		"target that joined":           {nil, []event.Event{status(event.Synced, events("", "", "shop", ""))}, false, false},
		"denied target":                {nil, []event.Event{status(event.Denied, events("", "", "shop", ""))}, false, false},
		"target that left":             {[]event.Target{events("", "", "shop", "")}, []event.Event{status(event.Left, events("", "", "shop", ""))}, false, true},
		"events before a status event": {nil, []event.Event{other}, false, false},
		"heartbeat":                    {nil, []event.Event{{Type: event.Heartbeat, Time: start}}, false, true},
		"events about another object":  {[]event.Target{events("", "", "shop", "")}, []event.Event{other}, false, false},
	} {
		asked := 0
		s := newSeen(t, Options{Compare: &change.Options{}, Targets: test.at, KubeEventsFiltered: test.some, LookupWarning: func(string, owner.Ref) (string, time.Time) {
			asked++
			return "", time.Time{}
		}})
		s.deliver(of(event.Added, object("Pod", "a", "a", "1", creating), 0))
		s.deliver(test.then...)
		s.Problems(start.Add(30*time.Second), 50, change.Options{})
		if (asked == 1) != test.want || asked > 1 {
			t.Errorf("%s: asked %d times", name, asked)
		}
		asked = 0
		past, err := AsOf(s.Inventory, start.Add(30*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		past.Problems(start.Add(30*time.Second), 50, change.Options{})
		if asked > 0 {
			t.Errorf("%s: AsOf looked up a Warning", name)
		}
	}
}
