package output

import (
	"fmt"

	"go.yaml.in/yaml/v2" // what sigs.k8s.io/yaml is made of
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"dwatch/watcher/event"
)

// appendObject appends the server's JSON, but for what is not to be seen. It never fails.
func (o *Options) appendObject(dst []byte, object event.Object) ([]byte, error) {
	text := o.Masks.MaskJSON(object.Raw())
	if !o.OmitManagedFields {
		return append(dst, text...), nil
	}
	before, after := event.CutManagedFields(text)
	return append(append(dst, before...), after...), nil
}

// YAML returns an object as these options have it: Masks and Unmanaged.
func (o *Options) YAML(object event.Object) ([]byte, error) {
	if text, is := appendBlockYAML(nil, o.Masks.MaskJSON(object.Raw()), o.OmitManagedFields); is {
		return text, nil
	}
	u, err := o.open(object)
	if err != nil {
		return nil, err
	}
	// Straight from the content: by way of JSON, as sigs.k8s.io/yaml goes, it
	// would not take control characters that JSON leaves unescaped.
	text, err := yaml.Marshal(u.Object)
	if err != nil {
		return nil, fmt.Errorf("encode %s/%s as YAML: %w", object.Namespace, EscapeLine(object.Name), err)
	}
	return text, nil
}

// open returns an object decoded, but for what is not to be seen.
func (o *Options) open(object event.Object) (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON([]byte(o.Masks.MaskJSON(object.Raw()))); err != nil {
		return nil, fmt.Errorf("decode an object: %w", err)
	}
	// Only now: by them the masks tell items of lists apart. u is nobody else's.
	if metadata, ok := u.Object["metadata"].(map[string]any); ok && o.OmitManagedFields {
		delete(metadata, "managedFields")
	}
	return u, nil
}

// openLookedAt returns what the template looks at of an object, or the JSON line of a mark.
// That has a member "cluster" if there are several.
func (o *Options) openLookedAt(e event.Event) (*unstructured.Unstructured, error) {
	if e.Type.IsStatus() {
		line, err := marshal(newMark(e))
		if err != nil {
			return nil, err
		}
		u := &unstructured.Unstructured{}
		return u, utiljson.Unmarshal(line, &u.Object)
	}
	object := e.Object
	if !o.Masks.AppliesTo(object.APIVersion, object.Kind) { // else what is hidden may depend on what else there is
		object = o.Template.looksAt.reduce(object)
	}
	if e.Target.Cluster != "" {
		object = WithCluster(object, e.Target.Cluster)
	}
	return o.open(object)
}

// openList returns a v1 List, as kubectl makes it.
func (o *Options) openList(objects []event.Object) (*unstructured.UnstructuredList, error) {
	list := &unstructured.UnstructuredList{
		Object: map[string]any{"apiVersion": "v1", "kind": "List", "metadata": map[string]any{"resourceVersion": ""}},
		Items:  make([]unstructured.Unstructured, 0, len(objects)),
	}
	for _, object := range objects {
		u, err := o.open(object)
		if err != nil {
			return nil, err
		}
		list.Items = append(list.Items, *u)
	}
	return list, nil
}
