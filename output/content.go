package output

import (
	"fmt"

	"go.yaml.in/yaml/v2" // what sigs.k8s.io/yaml is made of

	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
)

// content says what is printed of objects.
type content struct {
	masks *change.Masks
	// unmanaged leaves managed fields out.
	unmanaged bool
}

func (o Options) content() content { return content{o.Masks, o.Unmanaged} }

// YAML returns an object as these options have it: Masks and Unmanaged.
func (o Options) YAML(object event.Object) ([]byte, error) { return o.content().yaml(object) }

// append appends an object as JSON: the bytes of the server, but for what is not to
// be seen. It never fails.
func (c content) append(dst []byte, o event.Object) ([]byte, error) {
	text := o.Raw()
	if c.masks.Concern(o.APIVersion, o.Kind) {
		text = c.masks.ObjectJSON(text)
	}
	if !c.unmanaged {
		return append(dst, text...), nil
	}
	before, after := event.CutManagedFields(text)
	return append(append(dst, before...), after...), nil
}

// yaml returns the same as YAML.
func (c content) yaml(o event.Object) ([]byte, error) {
	u, err := c.open(o)
	if err != nil {
		return nil, err
	}
	// Straight from the content: by way of JSON, as sigs.k8s.io/yaml goes, it
	// would not take control characters that JSON leaves unescaped.
	text, err := yaml.Marshal(u.Object)
	if err != nil {
		return nil, fmt.Errorf("encode %s/%s as YAML: %w", o.Namespace, Line(o.Name), err)
	}
	return text, nil
}
