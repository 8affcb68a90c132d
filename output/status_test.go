package output

import (
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/watcher/event"
)

func TestMarks(t *testing.T) {
	at := time.Date(2026, 1, 31, 9, 0, 0, 123_456_789, time.FixedZone("", 3600))
	target := event.Target{
		Mapping:   &meta.RESTMapping{Resource: schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}},
		Namespace: "default",
	}
	hostile := errors.New("read: \x1b[31m\u009b\u202e\n<&>")
	marks := []event.Event{
		{Type: event.Synced, Target: target, Time: at},
		{Type: event.Gap, Target: target, Time: at, From: "7", ResourceVersion: "9"},
		{Type: event.Denied, Target: target, Time: at, Err: hostile},
		{Type: event.Heartbeat, Time: at, Count: 2, Connected: false, LastEvent: at},
	}
	const compact = `{"type":"SYNCED","resource":"deployments.v1.apps","namespace":"default","count":0,"time":"2026-01-31T08:00:00.123Z"}
{"type":"GAP","resource":"deployments.v1.apps","namespace":"default","from":"7","resourceVersion":"9","time":"2026-01-31T08:00:00.123Z"}
{"type":"DENIED","resource":"deployments.v1.apps","namespace":"default","message":"read: \u001b[31m` + "\u009b\u202e" + `\n<&>","time":"2026-01-31T08:00:00.123Z"}
{"type":"HEARTBEAT","count":2,"connected":false,"lastEvent":"2026-01-31T08:00:00.123Z","time":"2026-01-31T08:00:00.123Z"}
`
	const yaml = `type: SYNCED
resource: deployments.v1.apps
namespace: default
count: 0
time: "2026-01-31T08:00:00.123Z"
---
type: GAP
resource: deployments.v1.apps
namespace: default
from: "7"
resourceVersion: "9"
time: "2026-01-31T08:00:00.123Z"
---
type: DENIED
resource: deployments.v1.apps
namespace: default
message: "read: \e[31m\x9B` + "\u202e" + `\n<&>"
time: "2026-01-31T08:00:00.123Z"
---
type: HEARTBEAT
count: 2
connected: false
lastEvent: "2026-01-31T08:00:00.123Z"
time: "2026-01-31T08:00:00.123Z"
`
	const kyaml = `---
{
  type: "DENIED",
  resource: "deployments.v1.apps",
  namespace: "default",
  message: "\
     read: \e[31m\u009b\u202e\n\
     <&>\
    ",
  time: "2026-01-31T08:00:00.123Z",
}
`
	const terminal = `{
    "type": "DENIED",
    "resource": "deployments.v1.apps",
    "namespace": "default",
    "message": "read: \u001b[31m\u009b\u202e\n<&>",
    "time": "2026-01-31T08:00:00.123Z"
}
`
	for name, test := range map[string]struct {
		options Options
		marks   []event.Event
		want    string
	}{
		"json":     {Options{}, marks, compact},
		"yaml":     {Options{Format: "yaml"}, marks, yaml},
		"kyaml":    {Options{Format: "kyaml"}, marks[2:3], kyaml},
		"name":     {Options{Format: "name"}, marks, ""},
		"terminal": {Options{Terminal: true}, marks[2:3], terminal},
	} {
		if got := printed(t, test.options, test.marks...); got != test.want {
			t.Errorf("%s:\n%s\nwant:\n%s", name, got, test.want)
		}
	}
}

// TestHeard: a loss says when something was last heard of the server.
func TestHeard(t *testing.T) {
	encode, err := NewEncoder(Options{})
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 1, 31, 9, 0, 0, 0, time.UTC)
	line, err := encode(nil, event.Event{Type: event.Disconnected, Time: at, Heard: at.Add(-time.Second)})
	if want := `{"type":"DISCONNECTED","heard":"2026-01-31T08:59:59.000Z","time":"2026-01-31T09:00:00.000Z"}` + "\n"; err != nil || string(line) != want {
		t.Errorf("%s %v", line, err)
	}
}
