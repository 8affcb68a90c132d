package event

import (
	"slices"
	"strings"
)

// Selection says which objects are asked for: for the same meaning it is the same, as
// reflect.DeepEqual sees it and as JSON. What is printed of them has no part in it.
type Selection struct {
	// Resources are sorted. One that is there without a name is not there with one.
	Resources []Selected `json:"resources"`
	// Exclude are the names of --exclude in lower case, sorted, and not what they stand for: the
	// server may have that one day and not the next.
	Exclude []string `json:"exclude,omitempty"`
	// Namespaces are sorted; empty with AllNamespaces, or if nothing is in a namespace.
	Namespaces    []string `json:"namespaces,omitempty"`
	AllNamespaces bool     `json:"allNamespaces,omitempty"`
	// Labels and Fields are selectors in canonical form, as package plan writes them.
	Labels string `json:"labels,omitempty"`
	Fields string `json:"fields,omitempty"`
}

// Selected is one thing asked for.
type Selected struct {
	// Resource is plural and group; the name as typed, in lower case, where what that stands for
	// may change: for a category, and for what is waited for.
	Resource string `json:"resource"`
	Name     string `json:"name,omitempty"` // empty for all objects
}

// Equal reports whether s and o ask for the same objects.
func (s Selection) Equal(o Selection) bool {
	return slices.Equal(s.Resources, o.Resources) && slices.Equal(s.Exclude, o.Exclude) &&
		slices.Equal(s.Namespaces, o.Namespaces) && s.AllNamespaces == o.AllNamespaces &&
		s.Labels == o.Labels && s.Fields == o.Fields
}

// String says it for people; nothing may depend on it.
func (s Selection) String() string {
	var resources []string
	for _, r := range s.Resources {
		resources = append(resources, r.String())
	}
	text := strings.Join(resources, ", ")
	if len(s.Exclude) > 0 {
		text += " without " + strings.Join(s.Exclude, ", ")
	}
	switch {
	case s.AllNamespaces:
		text += " in all namespaces"
	case len(s.Namespaces) == 1:
		text += " in namespace " + s.Namespaces[0]
	case len(s.Namespaces) > 1:
		text += " in namespaces " + strings.Join(s.Namespaces, ", ")
	}
	if s.Labels != "" {
		text += ", with labels " + s.Labels
	}
	if s.Fields != "" {
		text += ", with fields " + s.Fields
	}
	return text
}

func (s Selected) String() string {
	if s.Name == "" {
		return s.Resource
	}
	return s.Resource + "/" + s.Name
}
