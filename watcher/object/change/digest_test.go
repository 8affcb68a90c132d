package change

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// TestDigestRandom: the digests of the state before say of all that comparing the two finds, that it
// changed. (Of an item without a key that was replaced by another one, the comparison says that all
// in it did, and the digests compare what is there.)
func TestDigestRandom(t *testing.T) {
	exact := mustParse("spec", "a", "spec.a", "a.name", "a.b", "..name", "spec..a", "a..b", "*", "a.*", "a[*]", "a[*].name", "spec[*].a", "..[*].name", "..[name=a]", "a[name=a].b", "..[name=b].a")
	d := &Digester{Key: []byte("key"), Patterns: exact}
	agreed, changed, differ := 0, 0, map[string]int{}
	for seed := range uint64(1_000) {
		r := random{rand.New(rand.NewPCG(seed, 9))}
		old := r.object(4)
		is := r.edit(old, 3).(map[string]any)
		before := d.Of(text(old))
		for _, p := range exact {
			want := isChanged(compared(old, is, Options{Only: Patterns{p}}).Changes)
			got, known := d.Changed(before, p, text(is))
			switch {
			case !known:
				t.Fatalf("%s is not known", p)
			case want && !got:
				t.Fatalf("%s changed, and the digest does not say so:\n%s\n%s", p, text(old), text(is))
			case got != want:
				differ[p.String()]++
			case got:
				changed++
			}
			agreed++
		}
	}
	t.Logf("%d agreed, %d of them changed; %v differ", agreed, changed, differ)
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
	const old = `{"apiVersion":"apps/v1","metadata":{"labels":{"a":"1"},"finalizers":["x","y"]},"spec":{"replicas":3,"args":["a","b"],"containers":[{"name":"web","image":"nginx:1","env":[{"name":"A","value":"1"}]},{"name":"log","image":"fluent"}]}}`
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
		{"metadata.finalizers[=x]", `["x","y"]`, `["y"]`, "changed"},
		{"metadata.finalizers[=x]", `["x","y"]`, `["x","z"]`, "same"},
		{"spec.none", `"replicas":3`, `"replicas":3,"none":null`, "changed"},
		{"spec.replicas", `"replicas":3,"args":["a","b"]`, `"args":["a","b"],"replicas":3`, "same"},
		{"spec.args", `["a","b"]`, `["b","a"]`, "changed"},
		{"spec.replicas", `apps/v1`, `apps/v2`, "unknown"},
	} {
		p := mustParse(test.pattern)
		d := &Digester{Key: []byte("key"), Patterns: append(mustParse("metadata", "status"), p...)}
		got := "same"
		switch changed, known := d.Changed(d.Of(old), p[0], strings.Replace(old, test.from, test.to, 1)); {
		case !known:
			got = "unknown"
		case changed:
			got = "changed"
		}
		if got != test.want {
			t.Errorf("%s, %s to %s: %s", test.pattern, test.from, test.to, got)
		}
		if _, known := d.Changed((&Digester{Key: []byte("key"), Patterns: mustParse("metadata")}).Of(old), p[0], old); known {
			t.Errorf("%s is known from another pattern", test.pattern)
		}
	}
}
