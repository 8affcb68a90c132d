package change_test

import (
	"encoding/json"
	"fmt"

	"dwatch/watcher/object/change"
)

var old = map[string]any{
	"metadata": map[string]any{"name": "web", "resourceVersion": "1"},
	"spec": map[string]any{"containers": []any{
		map[string]any{"name": "proxy", "image": "envoy:1.30"},
		map[string]any{"name": "web", "image": "nginx:1.28"},
	}},
}

var current = map[string]any{
	"metadata": map[string]any{"name": "web", "resourceVersion": "2", "managedFields": []any{map[string]any{
		"manager": "kubectl-set", "operation": "Update", "time": "2026-11-21T10:28:06Z", "fieldsV1": map[string]any{
			"f:spec": map[string]any{"f:containers": map[string]any{`k:{"name":"web"}`: map[string]any{"f:image": map[string]any{}}}},
		}}},
	},
	"spec": map[string]any{"containers": []any{
		map[string]any{"name": "web", "image": "nginx:1.29"},
	}},
}

func ExampleBetween() {
	r := change.Between(old, current, change.Options{Noise: change.DefaultNoise()})
	for _, c := range r.Changes {
		fmt.Println(c.Kind, c.Path, c.Old, c.New, c.Who.Manager)
	}
	fmt.Printf("+%d noise\n", r.Noise)
	// Output:
	// removed spec.containers[name=proxy] map[image:envoy:1.30 name:proxy] <nil> kubectl-set
	// changed spec.containers[name=web].image nginx:1.28 nginx:1.29 kubectl-set
	// +2 noise
}

func ExampleParsePattern() {
	image, err := change.ParsePattern("{.spec.containers[*].image}")
	fmt.Println(err)
	r := change.Between(old, current, change.Options{Only: change.Patterns{image}})
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
	patch, _ := json.Marshal(change.Patch(old["spec"].(map[string]any), current["spec"].(map[string]any)))
	fmt.Println(string(patch))
	// Output:
	// [{"op":"remove","path":"/containers/0"},{"op":"replace","path":"/containers/0/image","value":"nginx:1.29"}]
}

func ExampleMasks() {
	masks := &change.Masks{Secrets: true, Key: []byte("random, for one run")}
	secret := func(password string) map[string]any {
		return map[string]any{"apiVersion": "v1", "kind": "Secret", "data": map[string]any{"password": password}}
	}
	fmt.Println(masks.Object(secret("aHVudGVyMg=="))["data"])
	r := change.Between(secret("aHVudGVyMg=="), secret("aHVudGVyMw=="), change.Options{Masks: masks})
	fmt.Println(r.Changes[0].Path, r.Changes[0].Old, r.Changes[0].New)
	// Output:
	// map[password:<7 bytes, f082c3>]
	// data.password <7 bytes, f082c3> <7 bytes, c6d0d8>
}

func ExampleText() {
	fmt.Print(change.Text("listen 80\nroot /www\ngzip on\n", "listen 80\nroot /srv\ngzip on\n"))
	// Output:
	// @@ -1,3 +1,3 @@
	//  listen 80
	// -root /www
	// +root /srv
	//  gzip on
}
