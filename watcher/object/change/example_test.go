package change_test

import (
	"encoding/json"
	"fmt"

	"dwatch/watcher/object/change"
)

const old = `{"metadata":{"name":"web","resourceVersion":"1"},
	"spec":{"containers":[{"name":"proxy","image":"envoy:1.30"},{"name":"web","image":"nginx:1.28"}]}}`

const current = `{"metadata":{"name":"web","resourceVersion":"2","managedFields":[{
		"manager":"kubectl-set","operation":"Update","time":"2026-11-21T10:28:06Z",
		"fieldsV1":{"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{"f:image":{}}}}}}]},
	"spec":{"containers":[{"name":"web","image":"nginx:1.29"}]}}`

func ExampleDiff() {
	r := change.Diff(old, current, change.Options{Noise: change.DefaultNoise()})
	for _, c := range r.Changes {
		fmt.Println(c.Kind, c.Path, c.Old, c.New, c.Writer.Manager)
	}
	fmt.Printf("+%d noise\n", r.NoiseCount)
	// Output:
	// removed spec.containers[name=proxy] map[image:envoy:1.30 name:proxy] <nil> kubectl-set
	// changed spec.containers[name=web].image nginx:1.28 nginx:1.29 kubectl-set
	// +2 noise
}

func ExampleParsePattern() {
	image, err := change.ParsePattern("{.spec.containers[*].image}")
	fmt.Println(err)
	r := change.Diff(old, current, change.Options{Only: change.Patterns{image}})
	for _, c := range r.Changes {
		fmt.Println(c.Kind, c.Path)
	}
	_, err = change.ParsePattern("spec.containers[name=web.image")
	fmt.Println(err)
	// Output:
	// <nil>
	// removed spec.containers[name=proxy].image
	// changed spec.containers[name=web].image
	// path "spec.containers[name=web.image", character 16: "]" is missing
}

func ExamplePatch() {
	patch, _ := json.Marshal(change.Patch(old, current, nil, false))
	fmt.Println(string(patch))
	// Output:
	// [{"op":"replace","path":"/metadata/resourceVersion","value":"2"},{"op":"remove","path":"/spec/containers/0"},{"op":"replace","path":"/spec/containers/0/image","value":"nginx:1.29"}]
}

func ExampleMasks() {
	masks := &change.Masks{Secrets: true, Key: []byte("random, for one run")}
	secret := func(password string) string {
		return `{"apiVersion":"v1","kind":"Secret","data":{"password":"` + password + `"}}`
	}
	fmt.Println(masks.MaskJSON(secret("aHVudGVyMg==")))
	r := change.Diff(secret("aHVudGVyMg=="), secret("aHVudGVyMw=="), change.Options{Masks: masks})
	fmt.Println(r.Changes[0].Path, r.Changes[0].Old, r.Changes[0].New)
	// Output:
	// {"apiVersion":"v1","data":{"password":"<7 bytes, f082c3>"},"kind":"Secret"}
	// data.password <7 bytes, f082c3> <7 bytes, c6d0d8>
}

func ExampleUnifiedDiff() {
	fmt.Print(change.UnifiedDiff("listen 80\nroot /www\ngzip on\n", "listen 80\nroot /srv\ngzip on\n"))
	// Output:
	// @@ -1,3 +1,3 @@
	//  listen 80
	// -root /www
	// +root /srv
	//  gzip on
}
