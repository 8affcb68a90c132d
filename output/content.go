package output

import (
	"encoding/json"
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"dwatch/watcher/event"
)

// appendObject appends the JSON that the server sent, with Masks and OmitManagedFields applied. It never fails.
func (o *Options) appendObject(dst []byte, object event.Object) ([]byte, error) {
	text := o.Masks.MaskJSON(object.Raw())
	if !o.OmitManagedFields {
		return append(dst, text...), nil
	}
	before, after := event.CutManagedFields(text)
	return append(append(dst, before...), after...), nil
}

// YAML returns an object as a YAML document, with Masks and OmitManagedFields applied.
func (o *Options) YAML(object event.Object) ([]byte, error) {
	return o.appendYAML(nil, object, 0)
}

// appendYAML appends an object as YAML. If column is 2, the object is an item of a list, whose "- " the caller has appended.
func (o *Options) appendYAML(dst []byte, object event.Object, column int) ([]byte, error) {
	if text, ok := appendBlockYAML(dst, o.Masks.MaskJSON(object.Raw()), column, o.OmitManagedFields); ok && o.isSafe(text[len(dst):]) {
		return text, nil
	}
	u, err := o.open(object)
	if err != nil {
		return dst, err
	}
	var value any = u.Object
	if column > 0 {
		value = []any{u.Object}
	}
	convertFloats(u.Object)
	// sigs.k8s.io/yaml would encode the object as JSON first, and reject control characters that JSON does not escape.
	text, err := o.marshalSafeYAML(value)
	if err != nil {
		return dst, fmt.Errorf("encode %s/%s as YAML: %w", object.Namespace, EscapeLine(object.Name), err)
	}
	return append(dst, text[column:]...), nil
}

// open decodes an object, with Masks and OmitManagedFields applied.
func (o *Options) open(object event.Object) (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON([]byte(o.Masks.MaskJSON(object.Raw()))); err != nil {
		return nil, fmt.Errorf("decode an object: %w", err)
	}
	// The masks need the managed fields, which have the keys of list items. u is not shared.
	if metadata, ok := u.Object["metadata"].(map[string]any); ok && o.OmitManagedFields {
		delete(metadata, "managedFields")
	}
	return u, nil
}

// openForTemplate decodes the part of an event's object that the template may read, or the JSON of a status event. It adds a
// member "cluster" if there are several.
func (o *Options) openForTemplate(e event.Event) (*unstructured.Unstructured, error) {
	if e.Type.IsStatus() {
		line, err := marshal(newStatusLine(e))
		if err != nil {
			return nil, err
		}
		u := &unstructured.Unstructured{}
		return u, utiljson.Unmarshal(line, &u.Object)
	}
	object := e.Object
	if !o.Masks.AppliesTo(object.APIVersion, object.Kind) { // a mask may depend on other fields
		object = o.Template.reads.reduce(object)
	}
	if e.Target.Cluster != "" {
		object = WithCluster(object, e.Target.Cluster)
	}
	return o.open(object)
}

// openList decodes objects into a v1 List, as kubectl does.
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

// yamlNumber returns a number as kubectl writes it in YAML. kubectl encodes an object as JSON first, which writes many floats
// as integers: 12345678901234567000, not 1.2345678901234567e+19.
func yamlNumber(f float64) any {
	text, err := json.Marshal(f)
	if err != nil {
		return f
	}
	if whole, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		return whole
	}
	if whole, err := strconv.ParseUint(string(text), 10, 64); err == nil {
		return whole
	}
	return f
}

// convertFloats replaces the floats in a decoded value by the results of yamlNumber, and returns the value.
func convertFloats(value any) any {
	switch v := value.(type) {
	case float64:
		return yamlNumber(v)
	case map[string]any:
		for name := range v {
			v[name] = convertFloats(v[name])
		}
	case []any:
		for i := range v {
			v[i] = convertFloats(v[i])
		}
	}
	return value
}
