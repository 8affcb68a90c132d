package change

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// concurrentWrites are the writes of managers that write at the same time. The argument i counts the writes of a manager.
// Each write changes the object.
var concurrentWrites = map[string]func(w writer, i int) error{
	"patcher": func(w writer, i int) error {
		return w.patch(configMaps, "shared", types.MergePatchType,
			`{"metadata":{"annotations":{"patcher":"%[1]d"}},"data":{"a":"patcher %[1]d","gone-%[2]d":null,"gone-%[1]d":"x"}}`, i, i-3)
	},
	"taker": func(w writer, i int) error {
		return w.patch(configMaps, "shared", types.MergePatchType, `{"data":{"a":"taker %[1]d","b":"taker %[1]d","gone-%[2]d":null}}`, i, i-2)
	},
	"applier": func(w writer, i int) error {
		return w.patch(configMaps, "shared", types.ApplyPatchType, `{"apiVersion":"v1","kind":"ConfigMap","data":{"c":"%d","b":"applier %d","d%d":"x"}}`, i, i/5, i/3)
	},
	"applier2": func(w writer, i int) error {
		return w.patch(configMaps, "shared", types.ApplyPatchType, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"labels":{"l%d":"x"}},"data":{"e":"%d","d%d":"x"}}`, i, i, i/3)
	},
	"updater": func(w writer, i int) error {
		return w.update(configMaps, "shared", func(o *unstructured.Unstructured) {
			unstructured.SetNestedField(o.Object, fmt.Sprint("updater ", i), "data", "u")
			unstructured.RemoveNestedField(o.Object, "data", fmt.Sprint("gone-", i-1))
			o.SetFinalizers([]string{fmt.Sprint("change.example.com/f", i%3), "change.example.com/all"})
		})
	},
	"scaler": func(w writer, i int) error {
		return w.patch(deployments, "web", types.MergePatchType, `{"spec":{"replicas":%d}}`, 1+i%2, "scale")
	},
	"imager": func(w writer, i int) error {
		if i%6 > 0 {
			return w.patch(deployments, "web", types.MergePatchType, `{"metadata":{"labels":{"imager":"%d"},"annotations":{"imager%d":"x"}}}`, i, i%4)
		}
		return w.patch(deployments, "web", types.StrategicMergePatchType,
			`{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"web:%d","env":[{"name":"E%d","value":"x"}]}]}}}}`, i+2, i)
	},
	"labeller": func(w writer, i int) error {
		return w.patch(deployments, "web", types.MergePatchType, `{"metadata":{"labels":{"imager":"other-%d","labeller":null}}}`, i)
	},
	"porter": func(w writer, i int) error {
		return w.update(services, "dns", func(o *unstructured.Unstructured) {
			ports, _, _ := unstructured.NestedSlice(o.Object, "spec", "ports")
			ports = append(ports[:2], map[string]any{"name": fmt.Sprint("p", i), "port": int64(9000 + i%4), "protocol": "TCP", "targetPort": int64(i + 1)})
			unstructured.SetNestedSlice(o.Object, ports, "spec", "ports")
		})
	},
	"rower": func(w writer, i int) error {
		return w.update(things, "thing", func(o *unstructured.Unstructured) {
			rows, _, _ := unstructured.NestedSlice(o.Object, "spec", "rows")
			rows[i%2].(map[string]any)["name"] = fmt.Sprint("rower ", i)
			rows = append(rows[:4], map[string]any{"id": fmt.Sprint("new ", i), "zone": "main"})
			if i%7 == 0 {
				slices.Reverse(rows[1:4])
			}
			unstructured.SetNestedSlice(o.Object, rows, "spec", "rows")
			unstructured.SetNestedSlice(o.Object, []any{"a", fmt.Sprint("t", i)}, "spec", "tags")
			unstructured.SetNestedSlice(o.Object, []any{map[string]any{"name": "a", "run": fmt.Sprint(i)}}, "spec", "unsaid")
		})
	},
	"applier3": func(w writer, i int) error {
		return w.patch(things, "thing", types.ApplyPatchType,
			`{"apiVersion":"change.example.com/v1","kind":"Thing","spec":{"rows":[{"id":"a","zone":"other","name":"applier3 %d"},{"id":"mine","cells":[{"x":%d}]}],"free":{"a":{"b":%d}}}}`, i, i/4, i)
	},
	"reporter": func(w writer, i int) error {
		return w.patch(things, "thing", types.MergePatchType, `{"status":{"replicas":%d,"conditions":[{"type":"Ready","status":"%d"},{"type":"T%d"}]}}`, i, i, i%3, "status")
	},
}

// writer is one of the managers.
type writer struct {
	ctx    context.Context
	client dynamic.Interface
	name   string
}

func (w writer) resource(r schema.GroupVersionResource) dynamic.ResourceInterface {
	if r == deployments {
		return w.client.Resource(r).Namespace("rollout")
	}
	return w.client.Resource(r).Namespace("lists")
}

// patch patches an object. The last argument may be a subresource.
func (w writer) patch(r schema.GroupVersionResource, name string, kind types.PatchType, format string, args ...any) error {
	var subresources []string
	if s, ok := args[len(args)-1].(string); ok {
		subresources, args = []string{s}, args[:len(args)-1]
	}
	options := metav1.PatchOptions{}
	if kind == types.ApplyPatchType {
		options.FieldManager, options.Force = w.name, new(true)
	}
	_, err := w.resource(r).Patch(w.ctx, name, kind, fmt.Appendf(nil, format, args...), options, subresources...)
	return err
}

// update gets, edits and updates an object until there is no conflict.
func (w writer) update(r schema.GroupVersionResource, name string, edit func(*unstructured.Unstructured)) error {
	for {
		o, err := w.resource(r).Get(w.ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		edit(o)
		if _, err = w.resource(r).Update(w.ctx, o, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
			return err
		}
	}
}
