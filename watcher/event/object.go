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

// Identity is what is always known of an object: which one it is, and in which state.
type Identity struct {
	APIVersion      string    `json:"apiVersion"`
	Kind            string    `json:"kind"`
	Namespace       string    `json:"namespace,omitempty"`
	Name            string    `json:"name"`
	UID             types.UID `json:"uid"`
	ResourceVersion string    `json:"resourceVersion"`
}

// IsEvent reports whether objects of this kind are Events of Kubernetes.
func IsEvent(kind schema.GroupKind) bool {
	return kind.Kind == "Event" && (kind.Group == "" || kind.Group == "events.k8s.io")
}

func (i Identity) IsEvent() bool {
	return IsEvent(schema.FromAPIVersionAndKind(i.APIVersion, i.Kind).GroupKind())
}

// Object is one state of one Kubernetes object, as the server sent it. How it is held is not to be
// relied on: look at it only through the methods. An Object may be shared and is never changed.
//
// The zero Object stands for none; only [Object.IsZero] may be called on it.
type Object struct {
	*Identity
	// content is the whole object as one line of JSON, and kept is where that is if it is not here.
	// Both are empty if only the identity is known.
	content string
	kept    Kept
	row     string
}

// Kept holds the content of an object in another form, such as compressed. Content makes one line
// of JSON of it, at each call.
type Kept interface{ Content() string }

// NewObject returns the object whose content is one line of JSON; empty if only id is known of it.
// Neither may change any more.
func NewObject(id *Identity, content string) Object { return Object{Identity: id, content: content} }

// NewKept returns the object whose content is kept elsewhere. Neither may change any more.
func NewKept(id *Identity, kept Kept) Object { return Object{Identity: id, kept: kept} }

// WithRow returns the object with what the server shows of it in a table.
func (o Object) WithRow(row string) Object {
	o.row = row
	return o
}

// Row returns what the server shows of the object in a table, if it was asked for that and could:
// one line of JSON with columnDefinitions and cells, as in a Table of the API but for the
// descriptions. Else it is empty.
func (o Object) Row() string { return o.row }

// IsZero reports whether there is none.
func (o Object) IsZero() bool { return o.Identity == nil }

// GroupVersionKind returns what apiVersion and kind say.
func (o Object) GroupVersionKind() schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(o.APIVersion, o.Kind)
}

// Raw returns the object as one line of JSON: the server's bytes, or where only the identity is
// known, apiVersion, kind and the metadata that are it.
func (o Object) Raw() string {
	switch {
	case o.content != "":
		return o.content
	case o.kept != nil:
		return o.kept.Content()
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
		panic(err) // it holds nothing but strings
	}
	return string(identity)
}

// Open returns the full content, decoded at each call, as the stock dynamic client would have:
// whole numbers are int64, others float64. The caller may change it.
func (o Object) Open() (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON([]byte(o.Raw())); err != nil {
		return nil, fmt.Errorf("decode an object: %w", err)
	}
	return u, nil
}

// Newer compares resource versions of one resource (KEP-5504). Where a server makes them of
// something else than numbers, any other one is newer: the informer delivers in order.
func Newer(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	if err != nil {
		return a != b
	}
	return order > 0
}

// CutManagedFields returns what is before and what is behind metadata.managedFields in an object
// that is valid JSON; before is all of it if there are none.
func CutManagedFields(object string) (before, after string) {
	from, to := len(object), len(object)
	gjson.Parse(object).ForEach(func(key, metadata gjson.Result) bool {
		if key.Str != "metadata" {
			return true
		}
		metadata.ForEach(func(key, value gjson.Result) bool {
			if key.Str == "managedFields" {
				from, to = MemberSpan(object, key.Index, value.Index+len(value.Raw))
			}
			return true
		})
		return false
	})
	return object[:from], object[to:]
}

// MemberSpan returns where in JSON text a member of a map is, with the one comma that goes with it:
// from and to are where its name begins and its value ends.
func MemberSpan(text string, from, to int) (int, int) {
	const space = " \t\r\n"
	if rest := strings.TrimLeft(text[to:], space); rest[0] == ',' {
		return from, len(text) - len(rest) + 1
	}
	if before := strings.TrimRight(text[:from], space); before[len(before)-1] == ',' {
		from = len(before) - 1
	}
	return from, to
}
