package complete

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"dwatch/mapper"
)

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

// types returns the resource types that typed may become: their plurals and the
// categories, or else short names, so that TAB goes on after "sv" too. With a
// dot typed, plurals have their group.
func (s server) types(ctx context.Context, typed string) []cobra.Completion {
	resources, err := s.mapper.Watchable(ctx)
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

// categories returns the categories that resources are in.
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
