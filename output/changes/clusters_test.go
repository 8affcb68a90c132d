package changes

import (
	"fmt"
	"strings"
	"testing"

	"dwatch/output"
	"dwatch/watcher/event"
)

// TestClusterColors checks that each of several clusters has its own colour, and that colours change nothing else in a line, at any
// width.
func TestClusterColors(t *testing.T) {
	of := func(cluster string, e event.Event) event.Event {
		e.Target.Cluster = cluster
		return e
	}
	events := []event.Event{
		of("prod-eu", event.Event{Type: event.Synced, Target: deployments, Count: 2, Time: at}),
		of("prod-us", modified(t, "ConfigMap", `"data":{"k":"1"}`, `"data":{"k":"2"}`)),
		of("prod-eu", modified(t, "ConfigMap", `"data":{"prod-us":"1"}`, `"data":{"prod-us":"2","more":"v"}`)),
		of("prod-us", event.Event{Type: event.Deleted, Target: deployments, Object: object(t, "ConfigMap", `"data":{}`), Time: at}),
		of(strings.Repeat("prod-", 20), event.Event{Type: event.Added, Target: deployments, Object: object(t, "ConfigMap", `"data":{}`), Time: at}),
		of("\x1b[31mred", event.Event{Type: event.Added, Target: deployments, Object: object(t, "ConfigMap", `"data":{}`), Time: at}),
	}
	for _, width := range []int{MinWidth, 80, 160} {
		plain := options(width)
		plain.Clusters = func() []event.Cluster { return []event.Cluster{{Name: "prod-us"}, {Name: "prod-eu"}} }
		colored := plain
		colored.Color = true
		got := shown(t, colored, events...)
		if stripped := escapes.ReplaceAllString(got, ""); stripped != shown(t, plain, events...) {
			t.Errorf("at %d columns the text differs from that without colours:\n%s", width, stripped)
		}
		palette := output.NewPalette(event.ClusterNames(plain.Clusters())...)
		for name, most := range map[string]int{"prod-eu": 2, "prod-us": 2} {
			if n := strings.Count(got, palette.Paint(name, name)); n != most && (width > MinWidth || n == 0) { // a narrow terminal may cut it
				t.Errorf("at %d columns %s has its colour %d times:\n%s", width, name, n, got)
			}
		}
	}
	if text := fmt.Sprint(shown(t, options(80), events[1])); strings.Contains(text, "\x1b") {
		t.Errorf("escape sequence without Color: %q", text)
	}
}
