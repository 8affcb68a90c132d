package event

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// Identity identifies an object and, by its ResourceVersion, one of its states. Every Object except
// the zero one has an Identity.
type Identity struct {
	APIVersion      string    `json:"apiVersion"`
	Kind            string    `json:"kind"`
	Namespace       string    `json:"namespace,omitempty"`
	Name            string    `json:"name"`
	UID             types.UID `json:"uid"`
	ResourceVersion string    `json:"resourceVersion"`
}

// IsEvent reports whether kind is the kind of Kubernetes Events.
func IsEvent(kind schema.GroupKind) bool {
	return kind.Kind == "Event" && (kind.Group == "" || kind.Group == "events.k8s.io")
}

func (i Identity) IsEvent() bool {
	return IsEvent(schema.FromAPIVersionAndKind(i.APIVersion, i.Kind).GroupKind())
}

// Object is one state of a Kubernetes object. It is immutable and safe to share. Its content is what
// the server sent, unless the event was reconstructed or only the identity is known.
//
// The zero Object means no object. Only [Object.IsZero] may be used on it.
type Object struct {
	*Identity
	// content is the object as one line of JSON. If it is empty, lazy provides the content. If lazy is
	// nil, too, the object has only an identity.
	content string
	lazy    LazyContent
	row     string
}

// LazyContent provides the content of an object that is stored in another form, such as compressed.
// Content returns one line of JSON, which it decodes at each call.
type LazyContent interface{ Content() string }

// NewObject returns an object whose content is one line of JSON. If content is empty, the object has
// only an identity. The caller must not change id afterwards.
func NewObject(id *Identity, content string) Object { return Object{Identity: id, content: content} }

// NewLazyObject returns an object with the content that lazy provides. The caller must not change id
// or lazy afterwards.
func NewLazyObject(id *Identity, lazy LazyContent) Object { return Object{Identity: id, lazy: lazy} }

// WithRow returns the object with a table row for [Object.Row].
func (o Object) WithRow(row string) Object {
	o.row = row
	return o
}

// Row returns the object's row in the server's table output: one line of JSON with cells and
// columnDefinitions, as in metav1.Table but without column descriptions. It is empty if dwatch did
// not request tables or the server does not support them.
func (o Object) Row() string { return o.row }

// IsZero reports whether o is the zero Object.
func (o Object) IsZero() bool { return o.Identity == nil }

// GroupVersionKind returns the object's APIVersion and Kind.
func (o Object) GroupVersionKind() schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(o.APIVersion, o.Kind)
}

// Raw returns the object as one line of JSON. If the content is unknown, the JSON contains only the
// identity.
func (o Object) Raw() string {
	switch {
	case o.content != "":
		return o.content
	case o.lazy != nil:
		return o.lazy.Content()
	}
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetAPIVersion(o.APIVersion)
	u.SetKind(o.Kind)
	u.SetNamespace(o.Namespace)
	u.SetName(o.Name)
	u.SetUID(o.UID)
	u.SetResourceVersion(o.ResourceVersion)
	identity, err := json.Marshal(u.Object)
	if err != nil {
		panic(err) // can't happen: all values are strings
	}
	return string(identity)
}

// Decode returns a new copy of the content, decoded as by the dynamic client: integers are int64,
// other numbers are float64.
func (o Object) Decode() (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON([]byte(o.Raw())); err != nil {
		return nil, fmt.Errorf("decode object: %w", err)
	}
	return u, nil
}

// Newer reports whether resource version a is newer than b (KEP-5504). Both must belong to the same
// resource. If they can't be compared, because one is not a number, a counts as newer unless it
// equals b: watches deliver in order.
func Newer(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	if err != nil {
		return a != b
	}
	return order > 0
}

// CutManagedFields returns the text before and after metadata.managedFields in object, which must be
// valid JSON. If there are no managed fields, before is the whole text.
func CutManagedFields(object string) (before, after string) {
	start, end := len(object), len(object)
	gjson.Parse(object).ForEach(func(key, metadata gjson.Result) bool {
		if key.Str != "metadata" {
			return true
		}
		metadata.ForEach(func(key, value gjson.Result) bool {
			if key.Str == "managedFields" {
				start, end = MemberSpan(object, key.Index, value.Index+len(value.Raw))
			}
			return true
		})
		return false
	})
	return object[:start], object[end:]
}

// MemberSpan extends the span of a member of a JSON object, text[start:end], by the comma that has
// to go when the member is removed.
func MemberSpan(text string, start, end int) (int, int) {
	const space = " \t\r\n"
	if rest := strings.TrimLeft(text[end:], space); rest[0] == ',' {
		return start, len(text) - len(rest) + 1
	}
	if before := strings.TrimRight(text[:start], space); before[len(before)-1] == ',' {
		start = len(before) - 1
	}
	return start, end
}
