package readiness

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// kindCases are the cases of one kind in testdata/kinds.yaml.
type kindCases struct {
	Kind  string
	Spec  map[string]any
	Cases []struct {
		Want   string
		Status map[string]any
	}
}

// object returns the object of a case.
func (k *kindCases) object(status map[string]any) map[string]any {
	kind, group, _ := strings.Cut(k.Kind, ".")
	o := map[string]any{"apiVersion": group + "/v1", "kind": kind, "metadata": map[string]any{"name": "a", "generation": int64(2)}}
	if k.Spec != nil {
		o["spec"] = k.Spec
	}
	if status != nil {
		o["status"] = integers(status)
	}
	return o
}

// integers returns a value of YAML with the numbers that a decoder of Kubernetes makes.
func integers(value any) any {
	switch value := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, v := range value {
			out[k] = integers(v)
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i, v := range value {
			out[i] = integers(v)
		}
		return out
	case float64:
		if value == float64(int64(value)) {
			return int64(value)
		}
	}
	return value
}

func readKinds(t *testing.T) (all []kindCases) {
	t.Helper()
	text, err := os.ReadFile("testdata/kinds.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, &all); err != nil {
		t.Fatal(err)
	}
	for i := range all {
		if all[i].Spec != nil {
			all[i].Spec = integers(all[i].Spec).(map[string]any)
		}
	}
	return all
}

// TestKinds judges objects of widely used kinds.
func TestKinds(t *testing.T) {
	for _, k := range readKinds(t) {
		for i, c := range k.Cases {
			got := Judge(k.object(c.Status), now)
			if got.Answer.String() != c.Want {
				t.Errorf("%s, case %d: got %s (%s; %s), want %s", k.Kind, i+1, got.Answer, got.By, got.Message, c.Want)
			}
			if (got.Answer == Ready) != (got.Message == "") {
				t.Errorf("%s, case %d: the message of %s is %q", k.Kind, i+1, got.Answer, got.Message)
			}
			if explained := Explain(k.object(c.Status), now); explained.Answer != got.Answer || explained.Message != got.Message {
				t.Errorf("%s, case %d: Explain says %s, Judge %s", k.Kind, i+1, explained.Answer, got.Answer)
			}
		}
	}
}

// TestUnrelated adds fields and conditions that say nothing about readiness. They never make an object ready.
func TestUnrelated(t *testing.T) {
	fields := map[string]any{
		"replicas": int64(0), "url": "https://ready.example.com", "lastHandled": "ready", "labels": map[string]any{"state": int64(1)},
		"version": "1.2.3", "pods": []any{"ready", "running"}, "observedGeneration": "x", "history": []any{map[string]any{"phase": "Ready"}},
		"members": []any{map[string]any{"phase": "Ready"}}, "message": "all is well and ready", "nothing": nil,
	}
	conditions := []map[string]any{
		{"type": "Foo", "status": "True"}, {"type": "Upgradeable", "status": "True"}, {"type": "Created", "status": "True"},
		{"type": "Foo", "status": "True", "reason": "Ready"}, {"type": "Scheduled", "status": "True", "message": "ready"},
		{"type": "Ready", "status": "True", "observedGeneration": int64(1)}, {"type": "Degraded", "status": "False"}, {"type": 3, "status": "True"},
	}
	for _, k := range readKinds(t) {
		for i, c := range k.Cases {
			before := Judge(k.object(c.Status), now).Answer
			check := func(what string, status map[string]any) {
				if got := Judge(k.object(status), now); got.Answer == Ready && before != Ready {
					t.Errorf("%s, case %d: %s makes it ready by %s, was %s", k.Kind, i+1, what, got.By, before)
				}
			}
			for _, name := range slices.Sorted(maps.Keys(fields)) {
				status := maps.Clone(c.Status)
				if status == nil {
					status = map[string]any{}
				}
				if _, has := status[name]; !has {
					status[name] = fields[name]
					check("the field "+name, status)
				}
			}
			for _, one := range conditions {
				status := maps.Clone(c.Status)
				if status == nil {
					status = map[string]any{}
				}
				list, _ := status["conditions"].([]any)
				if status["conditions"] != nil && list == nil {
					continue
				}
				status["conditions"] = append(slices.Clone(list), any(one))
				check(fmt.Sprint("the condition ", one), status)
			}
		}
	}
}

// TestHostile judges statuses that no controller writes. No one panics, is ready or takes much time or memory.
func TestHostile(t *testing.T) {
	deep, many := map[string]any{"phase": "Ready"}, []any{}
	for range 9000 {
		deep = map[string]any{"statuses": deep}
		many = append(many, map[string]any{"type": "Foo", "status": "True"})
	}
	for name, object := range map[string]map[string]any{
		"deep":                    {"kind": "Gauge", "status": deep},
		"many conditions":         {"kind": "Gauge", "status": map[string]any{"conditions": many}},
		"empty errors":            {"kind": "Gauge", "status": map[string]any{"errors": []any{"", nil}}},
		"a field without letters": {"kind": "Gauge", "status": map[string]any{"_": "x", "": "x", "-": true, "/": []any{map[string]any{"_": "x"}}}},
		"a sum that is too large": {"kind": "Elasticsearch", "apiVersion": "elasticsearch.k8s.elastic.co/v1",
			"spec":   map[string]any{"nodeSets": []any{map[string]any{"count": int64(1 << 40)}, map[string]any{"count": "999999999999"}}},
			"status": map[string]any{"health": "unknown", "availableNodes": int64(3)}},
	} {
		if got := Explain(object, now); got.Answer == Ready {
			t.Errorf("%s: ready by %s", name, got.By)
		} else if got.Message == "" || len(got.Message) > 2000 {
			t.Errorf("%s: the message has %d bytes", name, len(got.Message))
		}
	}
}

// TestDoubtful judges statuses that have a good sign, and something that takes it back. None is ready.
func TestDoubtful(t *testing.T) {
	for _, status := range []string{
		// The generation.
		`{"observedGeneration":-1,"conditions":[{"type":"Ready","status":"True"}]}`, `{"observedGeneration":99,"conditions":[{"type":"Ready","status":"True"}]}`,
		`{"observedGeneration":" 1 ","conditions":[{"type":"Ready","status":"True"}]}`, `{"observed_generation":1,"conditions":[{"type":"Ready","status":"True"}]}`,
		`{"lastObservedGeneration":1,"conditions":[{"type":"Ready","status":"True"}]}`,
		// Conditions.
		`{"conditions":[{"type":"Ready","status":"True"},{"type":"Ready","status":"False"}]}`, `{"conditions":{"Ready":true,"Degraded":true}}`,
		`{"conditions":[{"type":"Available","status":"True"},{"type":"Healthy"}]}`, `{"conditions":[{"type":"Available","status":"True"},{"type":"Healthy","status":1}]}`,
		`{"conditions":[{"type":"ReadyToDelete","status":"True"}]}`, `{"conditions":[{"type":"DeletionComplete","status":"True"}]}`,
		`{"conditions":[{"type":"BackupSucceeded","status":"True"}]}`, `{"conditions":[{"type":"FinalizersPresent","status":"True"}]}`,
		`{"conditions":[{"type":"Terminating","status":"True","reason":"Completed"}]}`,
		`{"parents":[{"conditions":[{"type":"Accepted","status":"True"}]},{"conditions":[]}]}`, `{"pods":[{"conditions":[{"type":"Ready","status":"True"}]}]}`,
		// Words.
		`{"phase":"Not yet ready"}`, `{"phase":"no longer available"}`, `{"phase":"no pods available"}`, `{"phase":"none available"}`, `{"phase":"AlmostReady"}`,
		`{"phase":"ready soon"}`, `{"phase":"was ready"}`, `{"phase":"Will be ready"}`, `{"phase":"0 of 3 ready"}`, `{"phase":"Up 1/3"}`, `{"phase":"InComplete"}`,
		`{"phase":"unsuccessfully completed"}`, `{"phase":"DELETE_COMPLETE"}`, `{"phase":"UPDATE_ROLLBACK_COMPLETE"}`, `{"phase":"ReadyForDeletion"}`,
		`{"phase":"Rolled back"}`, `{"ready":true,"phase":"xyzzy"}`,
		// Fields about something else.
		`{"initialized":true}`, `{"backupStatus":"success"}`, `{"tlsStatus":"valid"}`, `{"licenseStatus":"valid"}`, `{"previousState":"Running"}`, `{"desiredState":"Running"}`,
		`{"targetState":"Ready"}`, `{"desired":{"state":"Ready"}}`, `{"backup":{"state":"Completed"}}`, `{"desired":{"readyReplicas":3,"replicas":3}}`,
		// Counts.
		`{"readyReplicas":0,"replicas":0}`, `{"readyReplicas":-1,"replicas":-1}`, `{"readyReplicas":3,"replicas":-1}`, `{"ready":"0/0"}`, `{"readyReplicas":3,"replicas":0}`,
	} {
		var value map[string]any
		if err := utiljson.Unmarshal([]byte(status), &value); err != nil {
			t.Fatal(err)
		}
		object := map[string]any{"apiVersion": "example.com/v1", "kind": "Gauge", "metadata": map[string]any{"generation": int64(2)}, "status": value}
		if got := Judge(object, now); got.Answer == Ready {
			t.Errorf("%s: ready by %s", status, got.By)
		}
	}
	surplus := map[string]any{"apiVersion": "example.com/v1", "kind": "Gauge", "spec": map[string]any{"replicas": int64(1)}, "status": map[string]any{"readyReplicas": int64(3)}}
	if got := Judge(surplus, now); got.Answer != InProgress {
		t.Errorf("more replicas than wanted: %s", got.Answer)
	}
}

// TestOddTypes replaces each field of each status by a value of another type. No answer becomes ready, and nothing
// panics.
func TestOddTypes(t *testing.T) {
	odd := []any{nil, int64(3), "x", true, []any{nil, int64(1), "x"}, map[string]any{"x": nil}}
	for _, k := range readKinds(t) {
		for i, c := range k.Cases {
			before := Judge(k.object(c.Status), now).Answer
			for name := range c.Status {
				for _, value := range odd {
					status := maps.Clone(c.Status)
					status[name] = value
					if got := Judge(k.object(status), now); got.Answer == Ready && before == Unknown {
						t.Errorf("%s, case %d: %s=%v makes it ready by %s", k.Kind, i+1, name, value, got.By)
					}
				}
			}
			for _, value := range odd {
				for _, part := range []string{"status", "spec", "metadata", "kind", "apiVersion"} {
					o := k.object(c.Status)
					o[part] = value
					Explain(o, now)
				}
			}
		}
	}
}

// now is the time at which the tests judge.
var now = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

// TestAge checks which objects fail because a condition has been False for long.
func TestAge(t *testing.T) {
	for name, c := range map[string]struct {
		object string
		want   string // after 59 minutes, and after an hour
	}{
		"Ready, without a reason":               {`{"kind":"Gauge","status":{"conditions":[{"type":"Ready","status":"False","lastTransitionTime":"2026-01-31T11:00:00Z"}]}}`, "in progress, failed: Ready is False, for more than an hour"},
		"Ready, with a reason of no known word": {`{"kind":"Gauge","status":{"conditions":[{"type":"Ready","status":"False","reason":"Purple","lastTransitionTime":"2026-01-31T11:00:00Z"}]}}`, "in progress, failed: Purple, for more than an hour"},
		"a reason says that it waits":           {`{"kind":"Gauge","status":{"conditions":[{"type":"Ready","status":"False","reason":"Waiting","lastTransitionTime":"2026-01-31T11:00:00Z"}]}}`, "in progress, in progress: Waiting"},
		"another condition is at work":          {`{"kind":"Gauge","status":{"conditions":[{"type":"Ready","status":"False","lastTransitionTime":"2026-01-31T11:00:00Z"},{"type":"Reconciling","status":"True"}]}}`, "in progress, in progress: Ready is False"},
		"another condition is good":             {`{"kind":"Gauge","status":{"conditions":[{"type":"Synced","status":"False","lastTransitionTime":"2026-01-31T11:00:00Z"},{"type":"Available","status":"True"}]}}`, "in progress, in progress: Synced is False"},
		"a state contradicts":                   {`{"kind":"Gauge","status":{"phase":"Running","conditions":[{"type":"Ready","status":"False","lastTransitionTime":"2026-01-31T11:00:00Z"}]}}`, "in progress, in progress: Ready is False"},
		"a part":                                {`{"kind":"Gauge","status":{"conditions":[{"type":"PumpReady","status":"False","lastTransitionTime":"2026-01-31T11:00:00Z"}]}}`, "in progress, in progress: PumpReady is False"},
		"an activity":                           {`{"kind":"GaugeRun","status":{"conditions":[{"type":"Ready","status":"False","lastTransitionTime":"2026-01-31T11:00:00Z"}]}}`, "in progress, in progress: Ready is False"},
		"a condition that ends":                 {`{"kind":"Gauge","status":{"conditions":[{"type":"Succeeded","status":"False","lastTransitionTime":"2026-01-31T11:00:00Z"}]}}`, "in progress, in progress: Succeeded is False"},
		"a suspended object":                    {`{"kind":"Gauge","spec":{"suspend":true},"status":{"conditions":[{"type":"Ready","status":"False","lastTransitionTime":"2026-01-31T11:00:00Z"}]}}`, "in progress, in progress: Ready is False"},
		"an older generation":                   {`{"kind":"Gauge","metadata":{"generation":2},"status":{"conditions":[{"type":"Ready","status":"False","observedGeneration":1,"lastTransitionTime":"2026-01-31T11:00:00Z"}]}}`, "in progress, in progress: Gauge generation is 2, but condition Ready is of 1"},
		"an unknown status":                     {`{"kind":"Gauge","status":{"conditions":[{"type":"Ready","status":"Unknown","lastTransitionTime":"2026-01-31T11:00:00Z"}]}}`, "in progress, in progress: Ready is Unknown"},
		"no time":                               {`{"kind":"Gauge","status":{"conditions":[{"type":"Ready","status":"False","lastTransitionTime":"yesterday"}]}}`, "in progress, in progress: Ready is False"},
		"a time to come":                        {`{"kind":"Gauge","status":{"conditions":[{"type":"Ready","status":"False","lastTransitionTime":"2027-01-31T11:00:00Z"}]}}`, "in progress, in progress: Ready is False"},
	} {
		var object map[string]any
		if err := utiljson.Unmarshal([]byte(c.object), &object); err != nil {
			t.Fatal(err)
		}
		before, after := Judge(object, now.Add(-time.Minute)), Judge(object, now)
		if got := before.Answer.String() + ", " + after.Answer.String() + ": " + after.Message; got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
		if turns := before.Answer != after.Answer; turns && !before.FailsAt.Equal(now) || !turns && after.Answer != InProgress {
			t.Errorf("%s: it fails at %s", name, before.FailsAt)
		}
	}
}
