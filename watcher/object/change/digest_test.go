package change

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDigestRandom checks that Changed agrees with Diff for random objects. There are three known differences:
//   - If an item without a key replaced another one, Diff reports all values in it, and Changed compares the values.
//   - If an item without a key only moved, Diff pairs it with the old one, and Changed compares the positions.
//   - If noise was added to an empty map, Diff sees that the map existed before. The test removes empty values.
func TestDigestRandom(t *testing.T) {
	exact := mustParse("spec", "a", "spec.a", "a.name", "a.b", "..name", "spec..a", "a..b", "*", "a.*", "a[*]", "a[*].name", "spec[*].a", "..[*].name", "..[name=a]", "a[name=a].b", "..[name=b].a")
	noise := Noise{Paths: mustParse("spec..type", "a.name", "..[name=name].a"), UnorderedLists: mustParse("a"), OptionalZeros: mustParse("..a")}
	agreed, changed, differ := 0, 0, 0
	for seed := range uint64(2_000) {
		d := &Digester{Key: []byte("key"), Patterns: exact}
		if seed%2 == 1 {
			d.Noise = noise
		}
		r := random{rand.New(rand.NewPCG(seed, 9))}
		old := r.object(4)
		is := r.edit(old, 3).(map[string]any)
		if len(d.Noise.Paths) > 0 {
			old, is = withoutEmpty(old).(map[string]any), withoutEmpty(is).(map[string]any)
		}
		before := d.DigestObject(text(old))
		for _, p := range exact {
			live := diffObjects(old, is, Options{Only: Patterns{p}, Noise: d.Noise}).Changes
			want := isChanged(live)
			got, known := d.Changed(before, p, text(is))
			switch {
			case !known:
				t.Fatalf("the digests contain none for %s", p)
			case want && !got:
				t.Errorf("%s changed, and the digest did not detect it:\n%s\n%s", p, text(old), text(is))
			case got && len(live) == 0 && !slices.Equal(withoutItemNames(d.facts(p, text(old))), withoutItemNames(d.facts(p, text(is)))):
				t.Errorf("%s did not change, and the digest reports a change:\n%s\n%s", p, text(old), text(is))
			case got && len(live) == 0:
				differ++
			case got:
				changed++
			}
			agreed++
		}
	}
	t.Logf("%d comparisons, %d with a change, %d known differences", agreed, changed, differ)
}

// withoutEmpty returns a value without empty maps and lists.
func withoutEmpty(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := map[string]any{}
		for name, part := range v {
			if part = withoutEmpty(part); !isEmpty(part) {
				m[name] = part
			}
		}
		return m
	case []any:
		list := []any{}
		for _, part := range v {
			if part = withoutEmpty(part); !isEmpty(part) {
				list = append(list, part)
			}
		}
		return list
	}
	return v
}

func isEmpty(v any) bool { return slices.Contains([]string{"{}", "[]"}, text(v)) }

// withoutItemNames returns facts without the names and indexes of the items above them.
func withoutItemNames(facts []fact) (texts []string) {
	for _, f := range facts {
		texts = append(texts, regexp.MustCompile(`\[[^]]*\]`).ReplaceAllString(f.parent, "[]")+f.step+f.value)
	}
	slices.Sort(texts)
	return texts
}

// isChanged reports whether the changes are more than moves of values.
func isChanged(changes []Change) bool {
	count := map[string]int{}
	for _, c := range changes {
		switch c.Kind {
		case Removed:
			count[text(c.Old)]++
		case Added:
			count[text(c.New)]--
		case Moved:
		default:
			return true
		}
	}
	for _, n := range count {
		if n != 0 {
			return true
		}
	}
	return false
}

// TestDigest checks that Changed reports changes of the values that a pattern names, and no other changes.
func TestDigest(t *testing.T) {
	const old = `{"apiVersion":"apps/v1","metadata":{"labels":{"a":"1"},"finalizers":["x","y"]},"spec":{"replicas":3,"args":["a","b"],"containers":[{"name":"web","image":"nginx:1","env":[{"name":"A","value":"1"}]},{"name":"log","image":"fluent"}]},"status":{"ready":0,"conditions":[{"type":"Disk"},{"type":"Ready","status":"True","lastHeartbeatTime":"00:00Z"}]}}`
	for _, test := range []struct{ pattern, from, to, want string }{
		{"spec.replicas", `"replicas":3`, `"replicas":4`, "changed"},
		{"spec.replicas", `"replicas":3,`, ``, "changed"},
		{"spec.replicas", `"a":"1"`, `"a":"2"`, "same"},
		{"spec", `"a":"1"`, `"a":"2"`, "same"},
		{"spec..image", `nginx:1`, `nginx:2`, "changed"},
		{"spec..image", `"value":"1"`, `"value":"2"`, "same"},
		{"spec..image", `"name":"log"`, `"name":"log2"`, "changed"},
		{"spec..env", `"value":"1"`, `"value":"2"`, "changed"},
		{"spec..image", `[{"name":"web"`, `[{"name":"new","args":[]},{"name":"web"`, "same"},
		{"spec..image", `[{"name":"web"`, `[{"name":"new","image":"x"},{"name":"web"`, "changed"},
		{"spec.containers[name=web].image", `[{"name":"web"`, `[{"name":"new","image":"x"},{"name":"web"`, "same"},
		{"spec.containers[name=web].image", `nginx:1`, `nginx:2`, "changed"},
		{"spec.containers[name=web].image", `fluent`, `fluent:2`, "same"},
		{"spec.containers[*].image", `fluent`, `fluent:2`, "changed"},
		{"spec.containers[1].image", `fluent`, `fluent:2`, "changed"},
		{"spec.containers[0].image", `fluent`, `fluent:2`, "same"},
		{"metadata.labels.*", `"a":"1"`, `"b":"1"`, "changed"},
		{"metadata.labels.a", `"labels":{"a":"1"}`, `"labels":"a"`, "changed"},
		{"metadata.finalizers[=x]", `["x","y"]`, `["y"]`, "changed"},
		{"metadata.finalizers[=x]", `["x","y"]`, `["x","z"]`, "same"},
		{"spec.none", `"replicas":3`, `"replicas":3,"none":null`, "changed"},
		{"spec.replicas", `"replicas":3,"args":["a","b"]`, `"args":["a","b"],"replicas":3`, "same"},
		{"spec.args", `["a","b"]`, `["b","a"]`, "changed"},
		{"spec.args[*]", `["a","b"]`, `["b","a"]`, "changed"},
		{"spec..image", `[{"name":"web","image":"nginx:1","env":[{"name":"A","value":"1"}]},{"name":"log","image":"fluent"}]`, `[{"name":"log","image":"fluent"},{"name":"web","image":"nginx:1","env":[{"name":"A","value":"1"}]}]`, "same"},
		{"spec.containers[*]", `[{"name":"web","image":"nginx:1","env":[{"name":"A","value":"1"}]},{"name":"log","image":"fluent"}]`, `[{"name":"log","image":"fluent"},{"name":"web","image":"nginx:1","env":[{"name":"A","value":"1"}]}]`, "changed"},
		{"spec", `nginx:1`, `ngin\u0078:1`, "same"},
		{"spec.replicas", `"replicas":3`, `"replicas":3.0`, "changed"}, // rewritten
		{"metadata", `"metadata":{`, `"metadata":{"resourceVersion":"2","managedFields":[],"annotations":{"deployment.kubernetes.io/revision":"2"},`, "same"},
		{"metadata", `["x","y"]`, `["x","y","batch.kubernetes.io/job-tracking"]`, "same"},
		{"metadata.annotations", `"metadata":{`, `"metadata":{"annotations":{"a":"b"},`, "changed"},
		{"metadata.resourceVersion", `"metadata":{`, `"metadata":{"resourceVersion":"2",`, "changed"},
		{"status", `00:00Z`, `05:00Z`, "same"},
		{"status.conditions", `00:00Z`, `05:00Z`, "same"},
		{"status.conditions[*]", `00:00Z`, `05:00Z`, "same"},
		{"status..lastHeartbeatTime", `00:00Z`, `05:00Z`, "changed"},
		{"status", `"type":"Ready","status":"True"`, `"type":"Ready","status":"False"`, "changed"},
		{"status", `{"type":"Disk"},{"type":"Ready","status":"True","lastHeartbeatTime":"00:00Z"}`, `{"type":"Ready","status":"True"},{"type":"Disk"}`, "same"},
		{"status.conditions[*]", `{"type":"Disk"},{"type":"Ready","status":"True","lastHeartbeatTime":"00:00Z"}`, `{"type":"Ready","status":"True"},{"type":"Disk"}`, "same"},
		{"status", `"ready":0,`, ``, "same"},
		{"status.ready", `"ready":0,`, ``, "same"},
		{"status.ready", `"ready":0,`, `"ready":1,`, "changed"},
		{"spec.replicas", `apps/v1`, `apps/v2`, "unknown"},
	} {
		p := mustParse(test.pattern)
		d := &Digester{Key: []byte("key"), Patterns: append(mustParse("metadata", "status"), p...), Noise: DefaultNoise()}
		is := strings.Replace(old, test.from, test.to, 1)
		if is == old {
			t.Fatalf("the object does not contain %s", test.from)
		}
		got := "same"
		switch changed, known := d.Changed(d.DigestObject(old), p[0], is); {
		case !known:
			got = "unknown"
		case changed:
			got = "changed"
		}
		if got != test.want {
			t.Errorf("%s, %s to %s: got %s, want %s", test.pattern, test.from, test.to, got, test.want)
		}
		if live := len(Diff(old, is, Options{Only: p, Noise: d.Noise}).Changes) > 0; live != (test.want == "changed") && test.want != "unknown" {
			t.Errorf("%s, %s to %s: Diff found changes: %v", test.pattern, test.from, test.to, live)
		}
		if _, known := d.Changed((&Digester{Key: d.Key, Patterns: mustParse("metadata.name"), Noise: d.Noise}).DigestObject(old), p[0], old); known {
			t.Errorf("%s: Changed used the digest of another pattern", test.pattern)
		}
		ignoring := Noise{Paths: append(slices.Clone(d.Noise.Paths), mustParse("spec.ignored")...), UnorderedLists: d.Noise.UnorderedLists, OptionalZeros: d.Noise.OptionalZeros}
		if _, known := d.Changed((&Digester{Key: d.Key, Patterns: p, Noise: ignoring}).DigestObject(old), p[0], old); known {
			t.Errorf("%s: Changed used a digest with other noise", test.pattern)
		}
	}
}
