// Package owner says what owns an object, and finds the way up to those that own it.
package owner

import (
	"context"
	"strings"

	"github.com/tidwall/gjson"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Ref names an object, in the version in which something refers to it.
type Ref struct {
	schema.GroupVersionKind
	// Namespace is empty for an object in none.
	Namespace, Name string
	// UID is empty where it is not said.
	UID types.UID
}

// Named returns the reference without version and UID, which is the same for all objects
// that come one after the other under one name.
func (r Ref) NameKey() Ref {
	r.Version, r.UID = "", ""
	return r
}

// Means reports whether r refers to o, of which the UID is known, and to no earlier object
// of its name. Kubelets refer to their nodes by the name in the place of the UID.
func (r Ref) RefersTo(o Ref) bool {
	if r.HasUID() {
		return r.UID == o.UID
	}
	return r.Kind == o.Kind && r.Name == o.Name
}

// HasUID reports whether r says which of several objects of its name it is.
func (r Ref) HasUID() bool { return r.UID != "" && r.UID != types.UID(r.Name) }

// Owner is one of the owners that an object names.
type Owner struct {
	Ref
	// Controller: it manages the object. An object has one such owner at most.
	Controller bool
}

// Of returns the owners that an object names. Each is in the namespace of the object, or in
// none: that is not known, and the namespace is that of the object.
func FromObject(o metav1.Object) []Owner {
	references := o.GetOwnerReferences()
	owners := make([]Owner, len(references))
	for i, r := range references {
		kind := schema.FromAPIVersionAndKind(r.APIVersion, r.Kind)
		owners[i] = Owner{Ref{kind, o.GetNamespace(), r.Name, r.UID}, r.Controller != nil && *r.Controller}
	}
	return owners
}

// Above is the one of some owners, at least one, that manages what they own.
func ControllerOrFirst(owners []Owner) Ref {
	for _, o := range owners {
		if o.Controller {
			return o.Ref
		}
	}
	return owners[0].Ref
}

// In returns the same of an object as JSON, without decoding the rest of it.
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

// HasPods reports whether objects of a kind may own pods, themselves or by what they own.
func MayOwnPods(kind schema.GroupKind) bool {
	switch kind.Group {
	case "apps", "batch":
		return true
	case "":
		return kind.Kind == "ReplicationController"
	}
	return strings.Contains(kind.Group, ".") && !strings.HasSuffix(kind.Group, ".k8s.io")
}

// Lookup returns the owners of an object; none if it does not exist, or they may not be
// known. It blocks until it knows, or ctx ends.
type LookupFunc func(ctx context.Context, o Ref) ([]Owner, error)

// maxDepth bounds owners above each other: nobody keeps objects from owning each other in a circle.
const maxDepth = 16

// Belongs reports whether o is what is looked for, or belongs to it: what names it as an
// owner, and what names that, and so on.
func SelfOrOwnerMatches(ctx context.Context, o Ref, is func(Ref) bool, owners LookupFunc) (bool, error) {
	seen := map[Ref]bool{}
	for level, depth := []Ref{o}, 0; len(level) > 0 && depth < maxDepth; depth++ {
		var above []Ref
		for _, one := range level {
			if is(one) {
				return true, nil
			}
			if seen[one.NameKey()] {
				continue
			}
			seen[one.NameKey()] = true
			found, err := owners(ctx, one)
			if err != nil {
				return false, err
			}
			for _, o := range found {
				above = append(above, o.Ref)
			}
		}
		level = above
	}
	return false, nil
}
