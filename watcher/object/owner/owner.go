// Package owner reads owner references, and follows them up to the owners of owners.
package owner

import (
	"context"
	"strings"

	"github.com/tidwall/gjson"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Ref identifies an object. Its API version is the one that the referring object uses.
type Ref struct {
	schema.GroupVersionKind
	// Namespace is empty for cluster-scoped objects.
	Namespace, Name string
	// UID is empty if the reference has none.
	UID types.UID
}

// NameKey returns the reference without version and UID. Objects that are created one after the other under the same
// name share it.
func (r Ref) NameKey() Ref {
	r.Version, r.UID = "", ""
	return r
}

// RefersTo reports whether r refers to o. If r has a UID, o.UID must be the same, so that r does not match another
// object with the same name. Otherwise, RefersTo compares only kind and name, because the reference may be incomplete.
// Kubelets set the UID of their Node to its name, which does not count as a UID.
func (r Ref) RefersTo(o Ref) bool {
	if r.HasUID() {
		return r.UID == o.UID
	}
	return r.Kind == o.Kind && r.Name == o.Name
}

// HasUID reports whether r has a UID that distinguishes objects with the same name.
func (r Ref) HasUID() bool { return r.UID != "" && r.UID != types.UID(r.Name) }

// Owner is an owner reference.
type Owner struct {
	Ref
	// Controller is true if the owner manages the object. An object has at most one such owner.
	Controller bool
}

// FromObject returns the owners of an object. An owner reference does not say whether the owner is namespaced, so
// Namespace is always the object's namespace.
func FromObject(o metav1.Object) []Owner {
	references := o.GetOwnerReferences()
	owners := make([]Owner, len(references))
	for i, r := range references {
		kind := schema.FromAPIVersionAndKind(r.APIVersion, r.Kind)
		owners[i] = Owner{Ref{kind, o.GetNamespace(), r.Name, r.UID}, r.Controller != nil && *r.Controller}
	}
	return owners
}

// ControllerOrFirst returns the controller among the owners, or the first owner if none is a controller. It panics if
// owners is empty.
func ControllerOrFirst(owners []Owner) Ref {
	for _, o := range owners {
		if o.Controller {
			return o.Ref
		}
	}
	return owners[0].Ref
}

// FromJSON is FromObject for an object as JSON. It decodes only the owner references.
func FromJSON(object string) []Owner {
	var owners []Owner
	metadata := gjson.Get(object, "metadata")
	metadata.Get("ownerReferences").ForEach(func(_, r gjson.Result) bool {
		text := func(field string) string { return strings.Clone(r.Get(field).String()) }
		kind := schema.FromAPIVersionAndKind(text("apiVersion"), text("kind"))
		owners = append(owners, Owner{Ref{kind, strings.Clone(metadata.Get("namespace").String()), text("name"), types.UID(text("uid"))}, r.Get("controller").Bool()})
		return true
	})
	return owners
}

// MayOwnPods reports whether objects of a kind may own pods, directly or through other objects. It is true for all kinds
// of custom resources whose group does not end with .k8s.io. It is false for Nodes, although they own their static pods.
func MayOwnPods(kind schema.GroupKind) bool {
	switch kind.Group {
	case "apps", "batch":
		return true
	case "":
		return kind.Kind == "ReplicationController"
	}
	return strings.Contains(kind.Group, ".") && !strings.HasSuffix(kind.Group, ".k8s.io")
}

// LookupFunc returns the owners of an object, or none if the object does not exist or the user may not read it. It
// blocks until it has the result or ctx ends.
type LookupFunc func(ctx context.Context, o Ref) ([]Owner, error)

// maxDepth is how many levels SelfOrOwnerMatches searches. The first level is the object itself.
const maxDepth = 16

// SelfOrOwnerMatches reports whether match returns true for o, for one of its owners, or for one of their owners, and so
// on. It calls lookup at most once for each object, even if objects own each other in a circle, and returns its errors.
func SelfOrOwnerMatches(ctx context.Context, o Ref, match func(Ref) bool, lookup LookupFunc) (bool, error) {
	seen := map[Ref]bool{}
	for level, depth := []Ref{o}, 0; len(level) > 0 && depth < maxDepth; depth++ {
		var next []Ref
		for _, one := range level {
			if match(one) {
				return true, nil
			}
			if seen[one.NameKey()] {
				continue
			}
			seen[one.NameKey()] = true
			owners, err := lookup(ctx, one)
			if err != nil {
				return false, err
			}
			for _, o := range owners {
				next = append(next, o.Ref)
			}
		}
		level = next
	}
	return false, nil
}
