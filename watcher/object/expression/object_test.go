package expression

import "testing"

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
