package expression

import (
	"math/rand/v2"
	"strings"
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"dwatch/watcher/object/change"
)

// TestChangedAgreesWithDiff checks that the shortcuts in changed() give the same result as a comparison of the objects.
func TestChangedAgreesWithDiff(t *testing.T) {
	found := map[bool]int{}
	for seed := range uint64(5_000) {
		g := generator{rand.New(rand.NewPCG(seed, 3))}
		was := g.object()
		is := was
		switch g.IntN(3) {
		case 0:
			is = g.object()
		case 1: // change one place
			is = strings.Replace(was, g.of(`"a"`, `"spec"`, "1", `"name"`), g.of(`"b"`, `"1"`, `"kind"`), 1)
		}
		var old, new map[string]any
		if utiljson.Unmarshal([]byte(was), &old) != nil || utiljson.Unmarshal([]byte(is), &new) != nil {
			continue
		}
		if _, isObject := new["kind"].(string); !isObject {
			continue
		}
		path := g.of("spec", "spec.a", "spec.name", "a", "a.b", "status..a", "..name", "items[*]", "spec.items[0]", "metadata.x-y", "a[name=a]", "kind")
		p, err := change.ParsePattern(path)
		if err != nil {
			t.Fatal(err)
		}
		want := len(change.Diff(was, is, change.Options{Only: change.Patterns{p}}).Changes) > 0
		found[want]++
		x, err := Compile("changed('" + path + "')")
		if err != nil {
			t.Fatal(err)
		}
		got, err := x.Matches(NewInput(modified(was, is), Options{}))
		if err != nil || got != want {
			t.Fatalf("seed %d: changed(%q): got %v, %v, want %v\nold %s\nnew %s", seed, path, got, err, want, was, is)
		}
	}
	if found[true] < 100 || found[false] < 100 {
		t.Errorf("got %v results, want at least 100 of each", found)
	}
}

// TestChangedWithListKeys checks that changed() uses the list keys in managedFields to identify items.
func TestChangedWithListKeys(t *testing.T) {
	const managed = `"metadata":{"managedFields":[{"manager":"m","operation":"Update","fieldsType":"FieldsV1",
		"fieldsV1":{"f:spec":{"f:ports":{"k:{\"containerPort\":80}":{".":{},"f:hostPort":{}}}}}}]}`
	state := func(port string) string {
		return `{"kind":"X",` + managed + `,"spec":{"ports":[{"containerPort":80,"hostPort":` + port + `}]}}`
	}
	for text, want := range map[string]bool{
		"changed('spec.ports[containerPort=80].hostPort')": true,
		"changed('spec.ports[containerPort=81].hostPort')": false,
		"changed('spec.ports')":                            true,
	} {
		if ok, err := evaluate(t, text, modified(state("1"), state("2"))); ok != want || err != nil {
			t.Errorf("%s: got %v, %v, want %v", text, ok, err, want)
		}
	}
}
