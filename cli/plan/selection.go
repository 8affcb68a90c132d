package plan

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"dwatch/mapper"
	"dwatch/watcher/event"
)

// selectedResource returns the resource of an argument for the Selection. It uses the full name if the resource can no
// longer change.
func selectedResource(a mapper.Argument, answer mapper.Result, wait bool) event.SelectedResource {
	if len(answer.Mappings) == 0 || answer.Multiple || wait {
		return event.SelectedResource{Resource: strings.ToLower(a.Resource), Name: a.Name}
	}
	return event.SelectedResource{Resource: answer.Mappings[0].Resource.GroupResource().String(), Name: a.Name}
}

// selection returns a Selection of the resources, without namespaces.
func selection(arguments []event.SelectedResource, exclude []string) event.Selection {
	all := map[string]bool{}
	for _, a := range arguments {
		all[a.Resource] = all[a.Resource] || a.Name == ""
	}
	narrower := func(a event.SelectedResource) bool { return a.Name != "" && all[a.Resource] }
	resources := slices.DeleteFunc(slices.Clone(arguments), narrower)
	slices.SortFunc(resources, func(a, b event.SelectedResource) int { return strings.Compare(a.String(), b.String()) })
	var excluded []string
	for _, name := range exclude {
		excluded = append(excluded, strings.ToLower(name))
	}
	return event.Selection{Resources: slices.Compact(resources), Exclude: sorted(excluded)}
}

func addNamespaces(s *event.Selection, r Request) {
	if s.AllNamespaces = r.AllNamespaces; !s.AllNamespaces {
		s.Namespaces = sorted(r.WatchedNamespaces())
		if selector, err := labels.Parse(r.NamespaceSelector); err == nil { // the flag has been checked
			s.NamespaceLabels = selector.String()
		}
	}
}

// NormalizedSelectors returns the selectors of r in apimachinery's format, with "=" for equality.
func (r Request) NormalizedSelectors() (label, field string, err error) {
	byLabel, err := labels.Parse(r.LabelSelector)
	if err != nil {
		return "", "", fmt.Errorf("invalid label selector %q: %w", r.LabelSelector, err)
	}
	byField, err := fields.ParseSelector(r.FieldSelector)
	if err != nil {
		return "", "", fmt.Errorf("invalid field selector %q: %w", r.FieldSelector, err)
	}
	return strings.ReplaceAll(byLabel.String(), "==", "="), byField.String(), nil
}

// sorted returns the words sorted and without duplicates.
func sorted(words []string) []string { return slices.Compact(slices.Sorted(slices.Values(words))) }
