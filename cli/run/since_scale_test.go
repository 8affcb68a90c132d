package run

import (
	"fmt"
	"testing"
	"time"

	"dwatch/watcher/event"
)

// TestScaleTime checks which Event gives a write to the subresource scale its time, and that a rollout, the creation and Events about
// ReplicaSets of others do not.
func TestScaleTime(t *testing.T) {
	start := time.Date(2026, 1, 2, 10, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	replicaSet := func(name, deployment string, created int) event.Object {
		content := fmt.Sprintf(`{"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"namespace":"n","name":%q,"creationTimestamp":%q,`+
			`"ownerReferences":[{"apiVersion":"apps/v1","kind":"Deployment","name":"web","uid":%q,"controller":true}]}}`, name, at(created).Format(time.RFC3339), deployment)
		return event.NewObject(&event.Identity{APIVersion: "apps/v1", Kind: "ReplicaSet", Namespace: "n", Name: name}, content)
	}
	kubeEvent := func(seconds int, deployment, reason, message string) event.Event {
		content := fmt.Sprintf(`{"apiVersion":"v1","kind":"Event","metadata":{"namespace":"n","name":"e"},"involvedObject":{"apiVersion":"apps/v1","kind":"Deployment","namespace":"n","name":"web","uid":%q},`+
			`"reason":%q,"message":%q,"lastTimestamp":%q}`, deployment, reason, message, at(seconds).Format(time.RFC3339))
		return event.Event{Time: at(seconds), Object: event.NewObject(&event.Identity{APIVersion: "v1", Kind: "Event", Namespace: "n", Name: "e"}, content)}
	}
	scaled := func(seconds int, message string) event.Event {
		return kubeEvent(seconds, "uid", "ScalingReplicaSet", message)
	}
	deployment := event.NewObject(&event.Identity{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "n", Name: "web", UID: "uid"}, "{}")
	created := scaled(0, "Scaled up replica set web-a from 0 to 2")
	for name, test := range map[string]struct {
		events []event.Event
		want   int // seconds, or 0 if the time is unknown
	}{
		"scaled up":                     {[]event.Event{created, scaled(60, "Scaled up replica set web-a from 2 to 3")}, 60},
		"scaled down":                   {[]event.Event{scaled(60, "Scaled down replica set web-a from 5 to 3")}, 60},
		"a message of older versions":   {[]event.Event{created, scaled(60, "Scaled up replica set web-a to 3")}, 60},
		"another number":                {[]event.Event{created, scaled(60, "Scaled up replica set web-a from 2 to 4")}, 0},
		"scaled again":                  {[]event.Event{scaled(60, "Scaled up replica set web-a from 2 to 3"), scaled(90, "Scaled up replica set web-a from 3 to 4")}, 0},
		"scaled back":                   {[]event.Event{scaled(60, "Scaled up replica set web-a from 2 to 3"), scaled(70, "Scaled up replica set web-a from 3 to 4"), scaled(90, "Scaled down replica set web-a from 4 to 3")}, 90},
		"the creation":                  {[]event.Event{scaled(0, "Scaled up replica set web-a from 0 to 3")}, 0},
		"a rollout":                     {[]event.Event{scaled(60, "Scaled down replica set web-a from 3 to 0"), scaled(62, "Scaled up replica set web-b from 0 to 3")}, 0},
		"a rollout long before":         {[]event.Event{scaled(60, "Scaled down replica set web-a from 2 to 0"), scaled(5000, "Scaled up replica set web-b from 2 to 3")}, 5000},
		"a ReplicaSet of another owner": {[]event.Event{scaled(60, "Scaled up replica set foreign from 2 to 3")}, 0},
		"an unknown ReplicaSet":         {[]event.Event{scaled(60, "Scaled up replica set gone from 2 to 3")}, 0},
		"another Deployment":            {[]event.Event{kubeEvent(60, "other", "ScalingReplicaSet", "Scaled up replica set web-a from 2 to 3")}, 0},
		"another reason":                {[]event.Event{kubeEvent(60, "uid", "Other", "Scaled up replica set web-a from 2 to 3")}, 0},
		"another message":               {[]event.Event{scaled(60, "went to 3")}, 0},
		"no Event":                      {nil, 0},
	} {
		var s scalings
		for _, o := range []event.Object{replicaSet("web-a", "uid", 0), replicaSet("web-b", "uid", 61), replicaSet("foreign", "other", 0)} {
			s.addReplicaSet(o)
		}
		s.addEvents(test.events)
		got, found := s.find(deployment, 3)
		if found != (test.want > 0) || found && !got.at.Equal(at(test.want)) {
			t.Errorf("%s: found %v, %v, want second %d", name, found, got, test.want)
		}
	}
}
