package mapper

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/watcher/event"
)

// A catalog finds resources by name. They are in the server's order of priority. It is
// not client-go's mapper, which also answers with guesses ("podlists"), finds the kind
// before its resource, where two may have one kind, and decides by chance between groups.
type catalog []resource

// resource is one version of a resource.
type resource struct {
	*metav1.APIResource
	gv schema.GroupVersion
}

// find returns what name names: everything or what is in a category of that name,
// which is a set, else one resource, else nothing.
func (c catalog) find(name string) (found []resource, set bool) {
	if name == Everything {
		return c.everything(), true
	}
	if members := c.category(name); len(members) > 0 {
		return members, true
	}
	if r, ok := c.one(name); ok {
		return []resource{r}, false
	}
	return nil, false
}

// category returns the preferred version of each resource in a category.
func (c catalog) category(name string) []resource {
	return slices.DeleteFunc(c.preferred(), func(r resource) bool { return !slices.Contains(r.Categories, name) })
}

// one reads name as kubectl does: as resource.version.group, as
// resource[.group], as Kind.version.group, as Kind[.group].
func (c catalog) one(name string) (resource, bool) {
	full, short := schema.ParseResourceArg(name)
	readings := []schema.GroupVersionResource{short.WithVersion("")}
	if full != nil {
		readings = slices.Insert(readings, 0, *full)
	}
	for _, is := range meanings {
		for _, reading := range readings {
			if r, ok := c.first(reading, is); ok {
				return r, true
			}
		}
	}
	return resource{}, false
}

// meanings are what the name of a resource, without a group, may be, that first which goes
// before the others.
var meanings = []func(r resource, name string) bool{
	func(r resource, name string) bool {
		name = strings.ToLower(name)
		return name == r.Name || name == r.singular()
	},
	// Short names alone are taken letter by letter, as kubectl takes them.
	func(r resource, name string) bool { return slices.Contains(r.ShortNames, name) },
	func(r resource, name string) bool { return strings.EqualFold(r.Kind, name) },
}

// answers reports whether name, without a group, could mean r.
func (r resource) answers(name string) bool {
	return slices.ContainsFunc(meanings, func(is func(resource, string) bool) bool { return is(r, name) })
}

// first returns the first resource that name means. A group that fits exactly goes
// before one that begins with it, which is enough where no version is given.
func (c catalog) first(name schema.GroupVersionResource, is func(r resource, name string) bool) (resource, bool) {
	fits := func(r resource) bool {
		return name.Resource != "" && (name.Version == "" || r.gv.Version == name.Version) && is(r, name.Resource)
	}
	i := slices.IndexFunc(c, func(r resource) bool { return r.gv.Group == name.Group && fits(r) })
	if i < 0 && (name.Group == "" || name.Version == "") {
		i = slices.IndexFunc(c, func(r resource) bool { return strings.HasPrefix(r.gv.Group, name.Group) && fits(r) })
	}
	if i < 0 {
		return resource{}, false
	}
	return c[i], true
}

// alternatives returns the resources of other groups that answer to name, too,
// where taken was found under it.
func (c catalog) alternatives(name string, taken resource) []resource {
	typed := schema.ParseGroupResource(name)
	if group := taken.gv.Group; group == "" || typed.Group == group || typed.Group == taken.gv.Version+"."+group {
		return nil
	}
	groups := []string{taken.gv.Group}
	var found []resource
	for _, r := range c {
		if slices.Contains(groups, r.gv.Group) || !strings.HasPrefix(r.gv.Group, typed.Group) || !r.answers(typed.Resource) {
			continue
		}
		groups = append(groups, r.gv.Group)
		found = append(found, r)
	}
	return found
}

// preferred returns each resource once, in the version the server prefers.
func (c catalog) preferred() []resource {
	seen := make(map[schema.GroupResource]bool, len(c))
	var preferred []resource
	for _, r := range c {
		if gr := r.gvr().GroupResource(); !seen[gr] {
			seen[gr] = true
			preferred = append(preferred, r)
		}
	}
	return preferred
}

// Everything names all resources that can be watched, each in the version that
// the server prefers. Events, which the server has in two groups, are those of
// the core group.
const Everything = "*"

func (c catalog) everything() []resource {
	all := c.preferred()
	core := slices.ContainsFunc(all, func(r resource) bool { return r.Name == "events" && r.gv.Group == "" })
	return slices.DeleteFunc(all, func(r resource) bool {
		return core && r.Name == "events" && r.gv.Group == "events.k8s.io"
	})
}

func (r resource) gvr() schema.GroupVersionResource { return r.gv.WithResource(r.Name) }

func (r resource) mapping() *meta.RESTMapping { return event.NewMapping(r.gvr(), r.Kind, r.Namespaced) }

// singular is what the server says, as not every aggregated API server does, or client-go
// takes for it.
func (r resource) singular() string { return cmp.Or(r.SingularName, strings.ToLower(r.Kind)) }
