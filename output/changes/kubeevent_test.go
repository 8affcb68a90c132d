package changes

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	testobject "dwatch/testdata/object"
	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
)

// TestKubeEvent checks the lines of Events of both API groups.
func TestKubeEvent(t *testing.T) {
	core := func(count int, message string) event.Object {
		return testobject.Parse(t, fmt.Sprintf(`{"apiVersion":"v1","kind":"Event","metadata":{"name":"web.1","namespace":"shop","uid":"1"},"involvedObject":{"kind":"Deployment","name":"web"},`+
			`"type":"Warning","reason":"FailedCreate","message":%q,"count":%d,"source":{"component":"deployment-controller"}}`, message, count))
	}
	series := testobject.Parse(t, `{"apiVersion":"events.k8s.io/v1","kind":"Event","metadata":{"name":"a","namespace":"shop","uid":"2"},"regarding":{"kind":"Pod","name":"a\u001b[31m"},`+
		`"type":"Normal","reason":"Pulled","note":"one\ntwo","series":{"count":4},"deprecatedCount":1,"reportingController":"kubelet"}`)
	const long = "no PriorityClass with name nosuch was found, and that is too long for one line"
	for name, test := range map[string]struct {
		width    int
		noise    bool
		events   []event.Event
		want     string
		isHidden bool
	}{
		"added":           {0, false, []event.Event{{Type: event.Added, Object: core(1, "no room")}}, " + event deployment/web  Warning FailedCreate: no room  deployment-controller\n", false},
		"a series":        {0, false, []event.Event{{Type: event.Added, Object: series}}, " + event pod/a\\u001b[31m  ×4 Normal Pulled: one two  kubelet\n", false},
		"count increased": {0, false, []event.Event{{Type: event.Modified, Object: core(7, "no room"), Old: core(6, "no room")}}, " ~ event deployment/web  ×7 Warning FailedCreate  deployment-controller\n", false},
		"another message": {0, false, []event.Event{{Type: event.Modified, Object: core(7, "no room"), Old: core(6, "busy")}}, " ~ event deployment/web  ×7 Warning FailedCreate: no room  deployment-controller\n", false},
		"without old":     {0, false, []event.Event{{Type: event.Modified, Object: core(2, "no room")}}, " ~ event deployment/web  ×2 Warning FailedCreate: no room  deployment-controller\n", false},
		"nothing changed": {0, false, []event.Event{{Type: event.Modified, Object: core(2, "no room"), Old: core(2, "no room")}}, "", true},
		"expired":         {0, false, []event.Event{{Type: event.Deleted, Object: core(2, "no room")}}, "", true},
		"with --noise":    {0, true, []event.Event{{Type: event.Deleted, Object: core(2, "no room")}}, " - event deployment/web  ×2 Warning FailedCreate  deployment-controller\n", false},
		"too long": {60, false, []event.Event{{Type: event.Added, Object: core(1, long)}}, " + event deployment/web  Warning FailedCreate\n" +
			"           no PriorityClass with name nosuch was found, and\n           that is too long for one line\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			o := options(test.width)
			if test.noise {
				o.Compare.Noise.Paths = nil
			}
			for i := range test.events {
				test.events[i].Time, test.events[i].Target = at, deployments
			}
			if diff := cmp.Diff(test.want, shown(t, o, test.events...)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestInitialKubeEvents checks that initial Events are shown at their own times, the oldest first, and do not count as shown.
func TestInitialKubeEvents(t *testing.T) {
	of := func(reason string, before time.Duration) event.Event {
		return event.Event{Type: event.Added, Initial: true, Target: deployments, Time: at, Object: testobject.Parse(t, fmt.Sprintf(
			`{"apiVersion":"v1","kind":"Event","metadata":{"name":%[1]q,"namespace":"shop"},"involvedObject":{"kind":"Pod","name":"web"},"reason":%[1]q,"lastTimestamp":%[2]q}`,
			reason, at.Add(-before).Format(time.RFC3339)))}
	}
	late := of("Late", 0)
	late.Initial = false
	o := options(0)
	o.InitialEvents = true
	var text strings.Builder
	v := New(&text, o)
	count := event.Event{Type: event.Synced, Target: deployments, Time: at, Count: 3}
	if err := v.Deliver(t.Context(), []event.Event{of("Second", time.Hour), of("First", 2*time.Hour), of("Third", time.Minute), count, late}); err != nil {
		t.Fatal(err)
	}
	const want = `07:00:00 = event pod/web  First
08:00:00 = event pod/web  Second
08:59:00 = event pod/web  Third
09:00:00 = 3 deployments in shop
09:00:00 + event pod/web  Late
`
	if diff := cmp.Diff(want, text.String()); diff != "" || v.Shown() != 1 {
		t.Errorf("%d shown: %s", v.Shown(), diff)
	}
}

// TestMaskedKubeEvent checks that Events are masked too.
func TestMaskedKubeEvent(t *testing.T) {
	pattern, err := change.ParsePattern("message")
	if err != nil {
		t.Fatal(err)
	}
	o := options(0)
	o.Compare.Masks = &change.Masks{Paths: change.Patterns{pattern}}
	of := func(message string) event.Object {
		return testobject.Parse(t, `{"apiVersion":"v1","kind":"Event","metadata":{"name":"web.1","namespace":"shop","uid":"1"},"involvedObject":{"kind":"Pod","name":"web"},"reason":"Failed","message":"`+message+`"}`)
	}
	got := shown(t, o,
		event.Event{Type: event.Added, Target: deployments, Time: at, Object: of("Hidden")},
		event.Event{Type: event.Modified, Target: deployments, Time: at, Old: of("Hidden"), Object: of("Hidden, too")})
	if strings.Contains(got, "Hidden") || strings.Count(got, "<") != 2 {
		t.Errorf("the message is not masked:\n%s", got)
	}
}
