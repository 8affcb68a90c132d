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
	// maxNames of one type in one namespace are enough, and are asked for at once.
	maxNames = 500
	// maxPages bounds the search for names that begin with what is typed: the server can't do it.
	maxPages = 10
)

// names returns the names that typed may become, of objects of types where the
// flags say. Names that are given already are left out.
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

func (s server) taken(ctx context.Context, given []mapper.Argument) map[schema.GroupVersionResource][]string {
	taken := make(map[schema.GroupVersionResource][]string)
	for _, g := range given {
		if g.Name == "" {
			continue
		}
		answer, err := s.mapper.Resolve(ctx, g.Resource)
		if err != nil {
			continue // it is wrong, but somewhere else on the line
		}
		for _, m := range answer.Mappings {
			taken[m.Resource] = append(taken[m.Resource], g.Name)
		}
	}
	return taken
}

// list returns the plain names that begin with typed, in one namespace or in all. Of
// very many it returns some.
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

// item completes TYPE or TYPE/NAME after head, the items before it. With pairs,
// a TYPE must be followed by /NAME.
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

// types returns the resource types that typed may become: their plurals and the categories, or else
// short names, so that TAB goes on after "sv" too. With a dot typed, plurals have their group.
func (s server) types(ctx context.Context, typed string) []cobra.Completion {
	resources, err := s.mapper.WatchableResources(ctx)
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

// describeType says what a resource is: Deployment apps/v1 [deploy].
func describeType(r mapper.Resource) string {
	description := r.Mapping.GroupVersionKind.Kind + " " + r.Mapping.GroupVersionKind.GroupVersion().String()
	if len(r.ShortNames) > 0 {
		description += " [" + strings.Join(r.ShortNames, ", ") + "]"
	}
	return description
}

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
