package lookup

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/cli/cluster"
	"dwatch/internal/spelling"
	"dwatch/watcher/object/change"
)

// Schema is the OpenAPI schema of a kind.
type Schema struct {
	all  gjson.Result // all schemas of the group version, by name
	kind gjson.Result
}

// FetchSchemas gets the schemas of kinds of one group version. The answer has hundreds of kilobytes to megabytes, so it
// should only be called if there may be a mistake. The Schema of a kind without one is zero, and leaves all fields open.
func FetchSchemas(ctx context.Context, c *cluster.Cluster, version schema.GroupVersion, kinds []string) ([]Schema, error) {
	schemas := make([]Schema, len(kinds))
	ctx, cancel := c.WithTimeout(ctx)
	defer cancel()
	d, err := c.NewDiscoveryClient()
	if err != nil {
		return schemas, err
	}
	of := path.Join("apis", version.Group, version.Version)
	if version.Group == "" {
		of = path.Join("api", version.Version)
	}
	text, err := d.RESTClient().Get().AbsPath("/openapi/v3/"+of).SetHeader("Accept", "application/json").DoRaw(ctx)
	if err != nil {
		return schemas, err
	}
	all := gjson.GetBytes(text, "components.schemas")
	all.ForEach(func(_, one gjson.Result) bool {
		for _, is := range one.Get("x-kubernetes-group-version-kind").Array() {
			if is.Get("group").Str != version.Group || is.Get("version").Str != version.Version {
				continue
			}
			if i := slices.Index(kinds, is.Get("kind").Str); i >= 0 && !schemas[i].kind.Exists() {
				schemas[i] = Schema{all, one}
			}
		}
		return true
	})
	return schemas, nil
}

// FindUnknownField follows a path in the schema. unknown is the part of the path that ends with the first field that no object
// can have, or nil if there is none. similar is unknown with a similar field name at its end, or nil. isOpen means that the
// schema allows unknown fields somewhere on the path, so that a mistake can't be found.
func (s Schema) FindUnknownField(fields change.FieldPath) (unknown, similar change.FieldPath, isOpen bool) {
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
			return nil, nil, true
		default:
			return fields[:i+1], similarField(fields[:i+1], properties), false
		}
	}
	return nil, nil, false
}

// similarField returns fields with the last name replaced by the most similar property, or nil if none is similar.
func similarField(fields change.FieldPath, properties gjson.Result) change.FieldPath {
	var names []string
	properties.ForEach(func(name, _ gjson.Result) bool {
		names = append(names, name.Str)
		return true
	})
	last := len(fields) - 1
	name := spelling.Nearest(fields[last], names)
	if name == "" {
		return nil
	}
	return append(slices.Clone(fields[:last]), name)
}

// deref follows a reference to another schema, which may be wrapped so that it can have a description.
func (s Schema) deref(r gjson.Result) gjson.Result {
	for range 10 { // references may be circular
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
