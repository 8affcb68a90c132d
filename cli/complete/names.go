package complete

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/mapper"
)

const (
	// maxNames is the maximum number of names of one type in one namespace, and the page size of list requests.
	maxNames = 500
	// maxPages is the maximum number of pages that are searched for names with the typed prefix. The server can't
	// filter by prefix.
	maxPages = 10
)

// names returns the names of objects of types that start with typed, in the namespaces that the flags
// select. It leaves out names that are already given.
func (s server) names(ctx context.Context, types, given []mapper.Argument, typed string) []string {
	targets, err := s.Targets(ctx, s.cluster, s.mapper, types)
	if err != nil {
		return nil
	}
	taken := s.taken(ctx, given)
	found := make([][]string, len(targets))
	var all sync.WaitGroup
	for i, t := range targets {
		all.Go(func() {
			names := s.list(ctx, t.Resource(), t.Namespace, typed)
			found[i] = slices.DeleteFunc(names, func(n string) bool { return slices.Contains(taken[t.Resource()], n) })
		})
	}
	all.Wait()
	return slices.Concat(found...)
}

// taken returns the given names by resource.
func (s server) taken(ctx context.Context, given []mapper.Argument) map[schema.GroupVersionResource][]string {
	taken := make(map[schema.GroupVersionResource][]string)
	for _, g := range given {
		if g.Name == "" {
			continue
		}
		answer, err := s.mapper.Resolve(ctx, g.Resource)
		if err != nil {
			continue // a mistake in another argument
		}
		for _, m := range answer.Mappings {
			taken[m.Resource] = append(taken[m.Resource], g.Name)
		}
	}
	return taken
}

// list returns the plain names that start with typed, in one namespace or in all. If there are very
// many, it returns some of them and sets s.cut.
func (s server) list(ctx context.Context, resource schema.GroupVersionResource, namespace, typed string) []string {
	var names []string
	options := metav1.ListOptions{Limit: maxNames}
	for range maxPages {
		page, err := s.objects.Resource(resource).Namespace(namespace).List(ctx, options)
		if err != nil {
			return nil
		}
		for _, object := range page.Items {
			if strings.HasPrefix(object.Name, typed) && isPlain(object.Name) {
				names = append(names, object.Name)
			}
		}
		if options.Continue = page.Continue; options.Continue == "" {
			return names
		}
		if len(names) >= maxNames {
			break
		}
	}
	s.cut.Store(true)
	return names
}

// item completes TYPE or TYPE/NAME. head contains the items before it in the same word. If pairs is
// true, a TYPE must be followed by /NAME.
func (s server) item(ctx context.Context, given []mapper.Argument, head, item string, pairs bool) []cobra.Completion {
	resource, name, named := strings.Cut(item, "/")
	if named {
		types := []mapper.Argument{{Resource: resource}}
		return choose(head+resource+"/", name, nil, s.names(ctx, types, given, name))
	}
	types := s.types(ctx, item)
	if pairs {
		for i, t := range types {
			word, description, _ := strings.Cut(t, "\t")
			types[i] = choice(word+"/", description)
		}
	}
	return choose(head, item, strings.Split(head, ","), types)
}

// types returns the plurals of all resources and the categories. If none of them starts with typed, it
// returns the short names, so that "sv" can be completed too. If typed contains a dot, the plurals include their group.
func (s server) types(ctx context.Context, typed string) []cobra.Completion {
	use := mapper.Watch
	if s.ListOnly {
		use = mapper.List
	}
	resources, err := s.mapper.Resources(ctx, use)
	if err != nil {
		return nil
	}
	var plurals, shorts []cobra.Completion
	for _, r := range resources {
		name := r.Name
		if strings.Contains(typed, ".") && !strings.Contains(name, ".") {
			name = r.Mapping.Resource.GroupResource().String()
		}
		plurals = append(plurals, choice(name, describeType(r)))
		for _, short := range r.ShortNames {
			shorts = append(shorts, choice(short, describeType(r)))
		}
	}
	plurals = append(plurals, categories(resources)...)
	if typed != "" && len(choose("", typed, nil, plurals)) == 0 {
		return shorts
	}
	return plurals
}

// describeType returns the description of a resource, such as "Deployment apps/v1 [deploy]".
func describeType(r mapper.Resource) string {
	description := r.Mapping.GroupVersionKind.Kind + " " + r.Mapping.GroupVersionKind.GroupVersion().String()
	if len(r.ShortNames) > 0 {
		description += " [" + strings.Join(r.ShortNames, ", ") + "]"
	}
	return description
}

// categories returns the categories of resources, each described by its members.
func categories(resources []mapper.Resource) []cobra.Completion {
	members := make(map[string][]string)
	for _, r := range resources {
		for _, category := range r.Categories {
			members[category] = append(members[category], r.Name)
		}
	}
	var choices []cobra.Completion
	for _, category := range slices.Sorted(maps.Keys(members)) {
		choices = append(choices, choice(category, "all of "+strings.Join(members[category], ", ")))
	}
	return choices
}
