package lookup

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	testobject "dwatch/testdata/object"
	"dwatch/watcher/object/change"
)

func eventAbout(kind, name, uid, message string, second int) string {
	version := "apps/v1"
	if kind == "Pod" {
		version = "v1"
	}
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Event","metadata":{"name":"%[2]s.%[5]d","namespace":"shop"},"involvedObject":{"apiVersion":%[6]q,"kind":%[1]q,"namespace":"shop","name":%[2]q,"uid":%[3]q},`+
		`"type":"Normal","reason":"Said","message":%[4]q,"lastTimestamp":"2026-01-31T09:00:%02[5]dZ"}`, kind, name, uid, message, second, version)
}

// TestEvents checks that Events about an object and the objects that it owns are sorted and masked.
func TestEvents(t *testing.T) {
	message, err := change.ParsePattern("message")
	if err != nil {
		t.Fatal(err)
	}
	masks := &change.Masks{Paths: change.Patterns{message}}
	s := newShop(t, masks, map[string]string{
		"events": list("EventList",
			eventAbout("Deployment", "web", "d", "scaled", 1), eventAbout("Pod", "web-1", "web-1", "started", 3), eventAbout("ReplicaSet", "web-a", "rs-a", "created", 2),
			eventAbout("Pod", "other", "other", "no", 4), eventAbout("Deployment", "web", "older", "no", 5)),
		"pods":        list("PartialObjectMetadataList", podOf("web-1", "a", 1, `"status":{}`), podOf("other", "z", 1, `"status":{}`)),
		"replicasets": list("PartialObjectMetadataList", setOf("a", "1", "d"), setOf("z", "1", "another")),
	})
	for _, hidden := range []bool{false, true} {
		var by *change.Masks
		if hidden {
			by = masks
		}
		found, err := s.Events(t.Context(), testobject.Parse(t, deployment), by)
		if err != nil {
			t.Fatal(err)
		}
		var subjects []string
		for _, e := range found {
			subjects = append(subjects, e.InvolvedObjectName())
			if got := strings.HasPrefix(e.Message, "<"); got != hidden {
				t.Errorf("got message %q, want it masked: %v", e.Message, hidden)
			}
		}
		if want := []string{"pod/web-1", "replicaset/web-a", "deployment/web"}; !slices.Equal(subjects, want) {
			t.Errorf("%q, want %q", subjects, want)
		}
	}
}
