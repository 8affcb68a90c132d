package page

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/output/inventory"
	"dwatch/watcher/event"
	"dwatch/watcher/object/kubeevent"
	"dwatch/watcher/object/owner"
)

// TestKubeEvents tests that the Events about an object are requested once for all viewers, and that the answer has the
// error if the request failed.
func TestKubeEvents(t *testing.T) {
	t.Parallel()
	h := newHub()
	var times atomic.Int32
	h.FetchEvents = func(_ context.Context, _ string, o event.Object) ([]kubeevent.Event, error) {
		times.Add(1)
		if o.Name == "denied" {
			return nil, errors.New("this user may not list events in namespace shop")
		}
		of := func(name string) owner.Ref {
			return owner.Ref{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, Name: name}
		}
		return []kubeevent.Event{
			{InvolvedObject: of("other"), Type: "Warning", Reason: "BackOff", Message: "back-off", ReportingComponent: "kubelet", Count: 3, LastSeen: at(2)},
			{InvolvedObject: of(o.Name), Type: "Normal", Reason: "Pulled", Message: "pulled", LastSeen: at(1)},
		}, nil
	}
	s := serve(t, h)
	s.asking.every = time.Hour
	for i, name := range []string{"web", "denied"} {
		deliver(t, h, added(pods, pod(name, "u"+name, "1", "Running"), i))
	}
	ask := func(name string) message {
		return s.get(t, "/api/about?key="+url.QueryEscape("pods/u"+name))
	}
	for range 3 {
		m := ask("web")
		items := m["items"].([]any)
		if len(items) != 2 || m["error"] != nil {
			t.Fatal(m)
		}
		first, second := message(items[0].(map[string]any)), message(items[1].(map[string]any))
		if first.text("reason") != "BackOff" || first.text("about") != "pod/other" || first["warning"] != true || first["count"] != 3.0 || second["about"] != nil {
			t.Error(m)
		}
	}
	if n := times.Load(); n != 1 {
		t.Errorf("the server was asked %d times", n)
	}
	if m := ask("denied"); m.text("error") != "this user may not list events in namespace shop" || len(m["items"].([]any)) > 0 {
		t.Error(m)
	}
}

// TestKubeEventsMany tests that only running lookups count towards the limit, not cached answers.
func TestKubeEventsMany(t *testing.T) {
	t.Parallel()
	release, ctx, h := make(chan struct{}), t.Context(), New(Options{})
	a := newLookupCache(ctx, func(*Hub) lookupFunc[kubeEventItem] {
		return func(_ context.Context, _ *inventory.Entry, o event.Object) ([]kubeEventItem, error) {
			if o.Name == "slow" {
				<-release
			}
			return nil, nil
		}
	})
	a.every = time.Hour
	of := func(name string) event.Object { return event.Object{Identity: &event.Identity{Name: name}} }
	for n := range 3 * maxAsked {
		if _, err := a.get(ctx, h, &inventory.Entry{ID: fmt.Sprint(n)}, of("quick")); err != nil {
			t.Fatalf("object %d, one after the other: %v", n, err)
		}
	}
	if len(a.known) > maxAsked {
		t.Errorf("%d answers are kept", len(a.known))
	}
	if a.known[h.stream+"0"] != nil || a.known[h.stream+fmt.Sprint(3*maxAsked-1)] == nil {
		t.Error("not the oldest were forgotten")
	}
	for n := range maxAsked {
		if _, err := a.startOrJoin(h, &inventory.Entry{ID: fmt.Sprint("slow", n)}, of("slow")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := a.startOrJoin(h, &inventory.Entry{ID: "one more"}, of("quick")); !errors.Is(err, errBusy) {
		t.Errorf("%d questions at a time, and one more: %v", maxAsked, err)
	}
	close(release)
	a.working.Wait()
	if _, err := a.get(ctx, h, &inventory.Entry{ID: "one more"}, of("quick")); err != nil {
		t.Error(err)
	}
}
