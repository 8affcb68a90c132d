package change

import (
	"encoding/json"
	"os"
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// readPod returns two states of the pod of the watcher's benchmarks, which differ in three values. It has 9.7 KB, or
// 5.4 KB without managed fields.
func readPod(t testing.TB, managedFields bool) (old, new map[string]any, size int) {
	t.Helper()
	line, err := os.ReadFile("../../testdata/pod.json")
	if err != nil {
		t.Fatal(err)
	}
	var event struct{ Object json.RawMessage }
	if err := json.Unmarshal(line, &event); err != nil {
		t.Fatal(err)
	}
	for _, object := range []*map[string]any{&old, &new} {
		if err := utiljson.Unmarshal(event.Object, object); err != nil {
			t.Fatal(err)
		}
		if !managedFields {
			delete((*object)["metadata"].(map[string]any), "managedFields")
		}
	}
	encoded, err := json.Marshal(old)
	if err != nil {
		t.Fatal(err)
	}
	new["metadata"].(map[string]any)["resourceVersion"] = "231"
	new["metadata"].(map[string]any)["annotations"].(map[string]any)["example.com/owner"] = "another team"
	new["spec"].(map[string]any)["containers"].([]any)[0].(map[string]any)["image"] = "shop:2"
	return old, new, len(encoded)
}

// BenchmarkDiff compares two states of a pod with three changes, one of them noise.
func BenchmarkDiff(b *testing.B) {
	was, is, size := readPod(b, true)
	old, new := text(was), text(is)
	o := Options{Noise: DefaultNoise(), Masks: &Masks{Secrets: true, Key: []byte("k")}}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		if r := Diff(old, new, o); len(r.Changes) != 2 || r.NoiseCount != 1 {
			b.Fatalf("%q", describe(r))
		}
	}
}

func BenchmarkPatch(b *testing.B) {
	was, is, size := readPod(b, true)
	old, new := text(was), text(is)
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		if p := Patch(old, new, nil, true); len(p) != 3 {
			b.Fatal(p)
		}
	}
}

// BenchmarkMask copies a pod and masks the values of its environment variables.
func BenchmarkMask(b *testing.B) {
	_, pod, size := readPod(b, true)
	masks := &Masks{Paths: mustParse("spec.containers[*].env[*].value"), Key: []byte("k")}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		masks.MaskObject(pod)
	}
}

// BenchmarkDecode decodes the pod, for comparison with the other benchmarks.
func BenchmarkDecode(b *testing.B) {
	_, pod, size := readPod(b, false)
	encoded, err := json.Marshal(pod)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		var object map[string]any
		if err := utiljson.Unmarshal(encoded, &object); err != nil {
			b.Fatal(err)
		}
	}
}
