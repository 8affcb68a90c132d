package report

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dwatch/watcher/event"
)

// discard is a Sink that discards events.
var discard = event.SinkFunc(func(context.Context, []event.Event) error { return nil })

// TestOutages checks that the begin and the end of an outage of several targets are reported once, even if it ends
// differently for one of them.
func TestOutages(t *testing.T) {
	a, b, down := targetOf("as", false, "", ""), targetOf("bs", false, "", ""), errors.New("down")
	const lost, reconnected = "connection lost, trying again: down\n", "reconnected\n"
	for end, line := range map[event.Type]string{
		event.Gone:        "as: the server no longer has the resource; waiting for it\n",
		event.Denied:      "",
		event.Reconnected: "",
	} {
		var w bytes.Buffer
		r := New(discard, Options{Out: &w, Err: io.Discard})
		for _, e := range []event.Event{
			{Type: event.Disconnected, Target: a, Err: down},
			{Type: event.Disconnected, Target: b, Err: down},
			{Type: end, Target: a, Err: down},
			{Type: event.Reconnected, Target: b},
			{Type: event.Disconnected, Target: b, Err: down},
		} {
			if err := r.Deliver(t.Context(), []event.Event{e}); err != nil {
				t.Fatal(err)
			}
		}
		r.Wait()
		if got, want := w.String(), lost+line+reconnected+lost; got != want {
			t.Errorf("%s:\n%s\nwant:\n%s", end, got, want)
		}
	}
}

// TestMissing checks that lines about missing events go to Err, and other lines to Out.
func TestMissing(t *testing.T) {
	a, b := targetOf("as", false, "", ""), targetOf("bs", false, "", "")
	var out, missing bytes.Buffer
	r := New(discard, Options{Out: &out, Err: &missing})
	batch := []event.Event{
		{Type: event.Denied, Target: a, Err: &event.TargetError{Target: a, Err: errors.New("as is forbidden: no")}},
		{Type: event.Disconnected, Target: b, Err: errors.New("down")},
		{Type: event.Gap, Target: b, From: "5", ResourceVersion: "7"},
	}
	for _, e := range batch {
		if err := r.Deliver(t.Context(), []event.Event{e}); err != nil {
			t.Fatal(err)
		}
		r.Wait()
	}
	want := `as: denied, trying again until it is allowed: as is forbidden: no
bs: relisted at resourceVersion 7: only intermediate states since 5 may be missing
`
	if got := missing.String(); got != want {
		t.Errorf("%s\nwant:\n%s", got, want)
	}
	if got, want := out.String(), "connection lost, trying again: down\nreconnected\n"; got != want {
		t.Errorf("%s\nwant:\n%s", got, want)
	}
}

// TestDeliver checks that a batch is passed on unchanged after its status events were reported, and that targets that differ
// only in their names are reported separately.
func TestDeliver(t *testing.T) {
	var w bytes.Buffer
	full := errors.New("full")
	batch := []event.Event{
		{Type: event.Synced, Target: targetOf("pods", true, "a", "")},
		{Type: event.Heartbeat},
		{Type: event.Disconnected, Target: targetOf("pods", true, "a", ""), Err: errors.New("down")},
		{Type: event.Reconnected, Target: targetOf("pods", true, "b", "")},
		{Type: event.Gap, Target: targetOf("pods", true, "a", ""), ResourceVersion: "7"},
	}
	var got []event.Event
	r := New(event.SinkFunc(func(_ context.Context, batch []event.Event) error {
		w.WriteString("next\n")
		got = batch
		return full
	}), Options{Out: &w})
	if err := r.Deliver(t.Context(), batch); !errors.Is(err, full) {
		t.Errorf("%v, want the error of the next Sink", err)
	}
	r.Wait()
	if len(got) != len(batch) || &got[0] != &batch[0] {
		t.Errorf("got %v, want the batch itself", got)
	}
	want := `no pods in namespace a yet
connection lost, trying again: down
reconnected
pods in namespace a: relisted at resourceVersion 7: only intermediate states since the start may be missing
next
`
	if diff := cmp.Diff(want, w.String()); diff != "" {
		t.Error(diff)
	}
}

// TestSimilarName checks that similar names are looked up without delaying events.
func TestSimilarName(t *testing.T) {
	var w bytes.Buffer
	delivered := make(chan struct{})
	r := New(discard, Options{Out: &w, SimilarName: func(_ context.Context, t event.Target) string {
		<-delivered
		return map[string]string{"wbe": "web"}[t.Name]
	}})
	for _, name := range []string{"wbe", "db"} {
		if err := r.Deliver(t.Context(), []event.Event{{Type: event.Synced, Target: targetOf("pods", true, "a", name)}}); err != nil {
			t.Fatal(err)
		}
	}
	close(delivered)
	r.Wait()
	want := `pods/wbe in namespace a does not exist yet; waiting for it; did you mean web?
pods/db in namespace a does not exist yet; waiting for it
`
	if diff := cmp.Diff(want, w.String()); diff != "" {
		t.Error(diff)
	}
}

// TestCheckNamespaces checks that no further namespaces are looked up after an error.
func TestCheckNamespaces(t *testing.T) {
	var w bytes.Buffer
	r := New(discard, Options{Out: &w, CheckNamespace: func(_ context.Context, namespace string) (bool, string, error) {
		switch namespace {
		case "secret":
			return false, "", errors.New("forbidden")
		case "thre":
			return true, "there", nil
		}
		return namespace != "there", "", nil
	}})
	r.ReportMissingNamespaces(t.Context(), []string{"there", "none", "thre", "secret", "other"})
	r.Wait()
	if got, want := w.String(), "namespace \"none\" does not exist yet; waiting for it\nnamespace \"thre\" does not exist yet; waiting for it; did you mean there?\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestResourceNamed checks the hint that the name of a missing object is also a resource.
func TestResourceNamed(t *testing.T) {
	var w bytes.Buffer
	r := New(discard, Options{Out: &w, ResourceNamed: func(name string) string {
		if name == "deploy" {
			return "deployments"
		}
		return ""
	}})
	r.AnnounceTargets([]event.Target{targetOf("pods", true, "a", "deploy"), targetOf("pods", true, "a", "web")}, ", carrying on from x\x1b")
	for _, name := range []string{"deploy", "web"} {
		if err := r.Deliver(t.Context(), []event.Event{{Type: event.Synced, Target: targetOf("pods", true, "a", name)}}); err != nil {
			t.Fatal(err)
		}
	}
	want := `watching pods/deploy, pods/web in namespace a, carrying on from x\u001b
pods/deploy in namespace a does not exist yet; waiting for it ("deploy" is also a resource: to watch both, say dwatch pods,deployments)
pods/web in namespace a does not exist yet; waiting for it
`
	if diff := cmp.Diff(want, w.String()); diff != "" {
		t.Error(diff)
	}
}

// TestGathered checks that targets with a Scope are reported together when all have answered: those without objects in one
// line, denied ones in another. Later findings, and single ones, are reported as usual.
func TestGathered(t *testing.T) {
	a, b, c := targetOf("as", true, "n", ""), targetOf("bs", true, "n", ""), targetOf("cs", true, "n", "")
	denied := func(on event.Target) event.Event {
		return event.Event{Type: event.Denied, Target: on, Err: &event.TargetError{Target: on, Err: errors.New("no")}}
	}
	d, e := targetOf("ds", true, "n", ""), targetOf("es", false, "", "")
	var out bytes.Buffer
	r := New(discard, Options{Out: &out, Scope: " of a/x"})
	r.SetTargets([]event.Target{a, b, c, d})
	deliver := func(batch ...event.Event) {
		t.Helper()
		if err := r.Deliver(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
	}
	deliver(event.Event{Type: event.Synced, Target: b}, denied(d), denied(c))
	if out.Len() > 0 {
		t.Errorf("reported before all targets have answered:\n%s", &out)
	}
	deliver(event.Event{Type: event.Synced, Target: a})
	deliver(event.Event{Type: event.Joined, Target: e}, denied(e))
	r.Wait()
	want := "no as, bs in namespace n of a/x yet\n" +
		"cs, ds in namespace n: denied, trying again until it is allowed: this user may not list and watch them; dwatch rbac prints a role with that\n"
	if got := out.String(); !strings.HasPrefix(got, want) || !strings.Contains(got, "es: denied, trying again until it is allowed: no\n") {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
