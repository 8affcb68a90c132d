package change

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDigestRandom: the digests of the state before say of all that comparing the two finds, that it
// changed, and of no more. (Of an item without a key that was replaced by another one, the comparison
// says that all in it did, and the digests compare what is there. That such an item only has another
// place, or that a map without anything has got noise, the comparison knows, and the digests do not.)
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
			old, is = filled(old).(map[string]any), filled(is).(map[string]any)
		}
		before := d.DigestObject(text(old))
		for _, p := range exact {
			live := compared(old, is, Options{Only: Patterns{p}, Noise: d.Noise}).Changes
			want := isChanged(live)
			got, known := d.Changed(before, p, text(is))
			switch {
			case !known:
				t.Fatalf("%s is not known", p)
			case want && !got:
				t.Errorf("%s changed, and the digest does not say so:\n%s\n%s", p, text(old), text(is))
			case got && len(live) == 0 && !slices.Equal(placeless(d.facts(p, text(old))), placeless(d.facts(p, text(is)))):
				t.Errorf("%s did not change, and the digest says so:\n%s\n%s", p, text(old), text(is))
			case got && len(live) == 0:
				differ++
			case got:
				changed++
			}
			agreed++
		}
	}
	t.Logf("%d agreed, %d of them changed; %d differ", agreed, changed, differ)
}

// filled returns a value without the maps and lists that have nothing in them.
func filled(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := map[string]any{}
		for name, part := range v {
			if part = filled(part); !isEmpty(part) {
				m[name] = part
			}
		}
		return m
	case []any:
		list := []any{}
		for _, part := range v {
			if part = filled(part); !isEmpty(part) {
				list = append(list, part)
			}
		}
		return list
	}
	return v
}

func isEmpty(v any) bool { return slices.Contains([]string{"{}", "[]"}, text(v)) }

// placeless returns facts without what tells the items above them from others.
func placeless(facts []fact) (texts []string) {
	for _, f := range facts {
		texts = append(texts, regexp.MustCompile(`\[[^]]*\]`).ReplaceAllString(f.list, "[]")+f.step+f.value)
	}
	slices.Sort(texts)
	return texts
}

// isChanged reports whether anything is another value than before, wherever it was moved to.
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

// TestDigest: what people ask for is found, and other changes are not taken for it.
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
			t.Fatalf("there is no %s", test.from)
		}
		got := "same"
		switch changed, known := d.Changed(d.DigestObject(old), p[0], is); {
		case !known:
			got = "unknown"
		case changed:
			got = "changed"
		}
		if got != test.want {
			t.Errorf("%s, %s to %s: %s", test.pattern, test.from, test.to, got)
		}
		if live := len(Diff(old, is, Options{Only: p, Noise: d.Noise}).Changes) > 0; live != (test.want == "changed") && test.want != "unknown" {
			t.Errorf("%s, %s to %s: comparing says %v", test.pattern, test.from, test.to, live)
		}
		if _, known := d.Changed((&Digester{Key: d.Key, Patterns: mustParse("metadata.name"), Noise: d.Noise}).DigestObject(old), p[0], old); known {
			t.Errorf("%s is known from another pattern", test.pattern)
		}
		ignoring := Noise{Paths: append(slices.Clone(d.Noise.Paths), mustParse("spec.ignored")...), UnorderedLists: d.Noise.UnorderedLists, OptionalZeros: d.Noise.OptionalZeros}
		if _, known := d.Changed((&Digester{Key: d.Key, Patterns: p, Noise: ignoring}).DigestObject(old), p[0], old); known {
			t.Errorf("%s is known with other noise", test.pattern)
		}
	}
}
