package resume

import (
	"slices"
	"strings"
)

// Selection is what decides which objects are reported. Two that mean the same are
// equal: lists are sorted, and selectors are written in one way.
type Selection struct {
	// Resources are resource.group or resource.group/name, and the sets that were
	// asked for by name, such as all or *.
	Resources []string `json:"resources"`
	// Exclude are resources that are left out.
	Exclude []string `json:"exclude,omitempty"`
	// Namespaces has one that is empty for all of them; none means that all
	// resources are cluster-scoped.
	Namespaces    []string `json:"namespaces,omitempty"`
	LabelSelector string   `json:"labelSelector,omitempty"`
	FieldSelector string   `json:"fieldSelector,omitempty"`
}

// Equal reports whether the same objects are reported.
func (s Selection) Equal(o Selection) bool {
	return slices.Equal(s.Resources, o.Resources) && slices.Equal(s.Exclude, o.Exclude) &&
		slices.Equal(s.Namespaces, o.Namespaces) &&
		s.LabelSelector == o.LabelSelector && s.FieldSelector == o.FieldSelector
}

// String is for people to read.
func (s Selection) String() string {
	text := strings.Join(s.Resources, ", ")
	if len(s.Exclude) > 0 {
		text += " without " + strings.Join(s.Exclude, ", ")
	}
	switch {
	case len(s.Namespaces) == 1 && s.Namespaces[0] == "":
		text += " in all namespaces"
	case len(s.Namespaces) == 1:
		text += " in namespace " + s.Namespaces[0]
	case len(s.Namespaces) > 1:
		text += " in namespaces " + strings.Join(s.Namespaces, ", ")
	}
	if s.LabelSelector != "" {
		text += ", with labels " + s.LabelSelector
	}
	if s.FieldSelector != "" {
		text += ", with fields " + s.FieldSelector
	}
	return text
}
