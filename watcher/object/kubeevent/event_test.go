package kubeevent

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/watcher/object/owner"
)

// TestParse checks that both API versions give the same result, and that fields that are missing or have the wrong type are
// empty.
func TestParse(t *testing.T) {
	web := owner.Ref{GroupVersionKind: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, Namespace: "shop", Name: "web", UID: "1"}
	full := Event{InvolvedObject: web, Type: "Warning", Reason: "FailedCreate", Message: "no room", ReportingComponent: "deployment-controller", Count: 7, LastSeen: time.Date(2026, 1, 31, 9, 0, 3, 5000, time.UTC)}
	for name, test := range map[string]struct {
		content string
		want    Event
	}{
		"v1": {`{"kind":"Event","apiVersion":"v1","metadata":{"namespace":"shop","creationTimestamp":"2026-01-31T09:00:00Z"},
			"involvedObject":{"apiVersion":"apps/v1","kind":"Deployment","namespace":"shop","name":"web","uid":"1"},"type":"Warning","reason":"FailedCreate","message":"no room",
			"source":{"component":"deployment-controller"},"count":7,"firstTimestamp":null,"lastTimestamp":"2026-01-31T09:00:02Z","eventTime":"2026-01-31T09:00:03.000005Z"}`, full},
		"a series, with reportingComponent": {`{"metadata":{"namespace":"shop"},"involvedObject":{"apiVersion":"apps/v1","kind":"Deployment","name":"web","uid":"1"},
			"type":"Warning","reason":"FailedCreate","message":"no room","reportingComponent":"deployment-controller","source":{"component":"other"},
			"count":1,"series":{"count":7,"lastObservedTime":"2026-01-31T09:00:03.000005Z"},"lastTimestamp":"2026-01-31T09:00:02Z"}`, full},
		"events.k8s.io/v1": {`{"metadata":{"namespace":"shop"},"regarding":{"apiVersion":"apps/v1","kind":"Deployment","name":"web","uid":"1"},
			"type":"Warning","reason":"FailedCreate","note":"no room","reportingController":"deployment-controller",
			"deprecatedCount":7,"deprecatedFirstTimestamp":"2026-01-31T09:00:02Z","deprecatedLastTimestamp":"2026-01-31T10:00:03.000005+01:00"}`, full},
		"reached the server late": {`{"metadata":{"creationTimestamp":"2026-01-31T09:04:00Z"},"lastTimestamp":"2026-01-31T09:00:00Z","firstTimestamp":"2026-01-31T08:00:00Z"}`,
			Event{LastSeen: time.Date(2026, 1, 31, 9, 0, 0, 0, time.UTC)}},
		"reached the server late, events.k8s.io/v1": {`{"metadata":{"creationTimestamp":"2026-01-31T09:04:00Z"},"eventTime":"2026-01-31T09:00:00.000005Z"}`,
			Event{LastSeen: time.Date(2026, 1, 31, 9, 0, 0, 5000, time.UTC)}},
		"only a creation time": {`{"metadata":{"creationTimestamp":"2026-01-31T09:04:00Z"},"eventTime":null,"lastTimestamp":null}`,
			Event{LastSeen: time.Date(2026, 1, 31, 9, 4, 0, 0, time.UTC)}},
		"nothing": {`{}`, Event{}},
		"odd":     {`{"metadata":3,"involvedObject":{"kind":{},"name":[]},"reason":["x"],"count":"many","series":1,"lastTimestamp":"today"}`, Event{}},
		"an invalid involvedObject, and regarding": {`{"involvedObject":3,"regarding":{"kind":"Pod","name":"a"}}`,
			Event{InvolvedObject: owner.Ref{GroupVersionKind: schema.GroupVersionKind{Kind: "Pod"}, Name: "a"}}},
	} {
		if diff := cmp.Diff(test.want, Parse(test.content), cmp.Comparer(time.Time.Equal)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if got := full.InvolvedObjectName(); got != "deployment/web" || !full.IsWarning() {
		t.Errorf("got %s, warning %v, want the warning deployment/web", got, full.IsWarning())
	}
}
