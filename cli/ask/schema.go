package ask

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/cli/cluster"
	"dwatch/mapper/near"
	"dwatch/watcher/object/change"
)

// Schema is what the server says of which fields the objects of a kind may have.
type Schema struct {
	all  gjson.Result // of its group version, by name
	kind gjson.Result
}

// SchemaOf asks for it. It is of some 100 KB to some MB, and so only asked for when something may be
// wrong. The zero Schema is one that says nothing.
func SchemaOf(ctx context.Context, c *cluster.Cluster, kind schema.GroupVersionKind) (s Schema, err error) {
	ctx, cancel := c.Ask(ctx)
	defer cancel()
	d, err := c.Discovery()
	if err != nil {
		return s, err
	}
	of := path.Join("apis", kind.Group, kind.Version)
	if kind.Group == "" {
		of = path.Join("api", kind.Version)
	}
	text, err := d.RESTClient().Get().AbsPath("/openapi/v3/"+of).SetHeader("Accept", "application/json").DoRaw(ctx)
	if err != nil {
		return s, err
	}
	s.all = gjson.GetBytes(text, "components.schemas")
	s.all.ForEach(func(_, one gjson.Result) bool {
		is := one.Get("x-kubernetes-group-version-kind").Array()
		if slices.ContainsFunc(is, func(r gjson.Result) bool {
			return r.Get("group").Str == kind.Group && r.Get("version").Str == kind.Version && r.Get("kind").Str == kind.Kind
		}) {
			s.kind = one
		}
		return !s.kind.Exists()
	})
	return s, nil
}

// Lacks returns the first of the fields that no object can have, after those before it, and which one
// may have been meant, empty if none is near. What the schema leaves open, objects can have: nothing
// is missing then.
func (s Schema) Lacks(fields change.Fields) (missing, meant change.Fields) {
	at := s.deref(s.kind)
	for i, name := range fields {
		properties, others, items := at.Get("properties"), at.Get("additionalProperties"), at.Get("items")
		switch next := properties.Get(gjson.Escape(name)); {
		case name == change.AnyField && items.Exists():
			at = s.deref(items)
		case next.Exists():
			at = s.deref(next)
		case others.IsObject():
			at = s.deref(others)
		case name == change.AnyField, others.Bool(), !properties.Exists(), at.Get("x-kubernetes-preserve-unknown-fields").Bool():
			return nil, nil
		default:
			return fields[:i+1], meantBy(fields[:i+1], properties)
		}
	}
	return nil, nil
}

// meantBy returns fields with a name that there is in place of the last; empty if none is near.
func meantBy(fields change.Fields, properties gjson.Result) change.Fields {
	var names []string
	properties.ForEach(func(name, _ gjson.Result) bool {
		names = append(names, name.Str)
		return true
	})
	last := len(fields) - 1
	name := near.To(fields[last], names)
	if name == "" {
		return nil
	}
	return append(slices.Clone(fields[:last]), name)
}

// deref follows a reference to another schema, which may be wrapped so that it can have a description.
func (s Schema) deref(r gjson.Result) gjson.Result {
	for range 10 { // who knows what a server says
		if wrapped := r.Get("allOf.0"); wrapped.Exists() && !r.Get("properties").Exists() {
			r = wrapped
		}
		name, refers := strings.CutPrefix(r.Get("$ref").Str, "#/components/schemas/")
		if !refers {
			break
		}
		r = s.all.Get(gjson.Escape(name))
	}
	return r
}
