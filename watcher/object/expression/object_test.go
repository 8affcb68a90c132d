package expression

import (
	"slices"
	"testing"
)

// TestMatchesObject checks that current objects are evaluated like initial events, and that expressions on changes are
// rejected.
func TestMatchesObject(t *testing.T) {
	for text, want := range map[string]bool{
		"type == 'ADDED' && initial && time == now()": true,
		"object.spec.replicas == 3":                   true,
		"object.spec.nope == 3":                       false,
		"age(object) == duration('1h')":               true,
		"deleted":                                     false,
		"ready":                                       false,
		"type != 'DELETED' && !ready(object)":         true,
		"unready":                                     true,
		"restarted":                                   false,
		"evicted":                                     false,
		"cluster == 'eu'":                             true,
		"cluster.startsWith('us')":                    false,
	} {
		x, err := CompileForObjects(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if got, err := x.MatchesObject("eu", object(sample), clock); got != want || err != nil {
			t.Errorf("%s: got %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"old == null", "changes.size() == 0", "changed('spec')", "changed", "scaled", "manual", "object."} {
		if _, err := CompileForObjects(text); err == nil {
			t.Errorf("%s: got no error", text)
		}
	}
}

// TestStatePresets checks that these presets need no earlier state, and that all others do. deleted needs none, but no existing object
// matches it.
func TestStatePresets(t *testing.T) {
	for _, name := range Presets() {
		x, err := Compile(name)
		if err != nil {
			t.Fatal(err)
		}
		needs := x.Requirements()
		if got, want := slices.Contains(StatePresets(), name), !needs.Old && !needs.Changes && name != "deleted"; got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}
