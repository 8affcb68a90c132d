package plan

import (
	"slices"
	"strings"

	"dwatch/mapper"
)

// Selection says which objects are asked for, however that was said: for the same
// meaning it is the same, as reflect.DeepEqual sees it and as JSON. What is printed
// of the objects has no part in it.
type Selection struct {
	// Resources are sorted. One that is there without a name is not there with one.
	Resources []Selected `json:"resources"`
	// Exclude are the names of --exclude in lower case, sorted. They are not what
	// the names stand for: the server may have that one day and not the next.
	Exclude []string `json:"exclude,omitempty"`
	// Namespaces are sorted; empty with AllNamespaces, or if nothing is in a
	// namespace.
	Namespaces    []string `json:"namespaces,omitempty"`
	AllNamespaces bool     `json:"allNamespaces,omitempty"`
	// Labels and Fields are selectors in canonical form, by WithSelectors.
	Labels string `json:"labels,omitempty"`
	Fields string `json:"fields,omitempty"`
}

// Selected is one thing asked for.
type Selected struct {
	// Resource is plural and group. It is the name as typed, in lower case, where
	// what that stands for may change: for a category, and for what is waited for.
	Resource string `json:"resource"`
	// Name is empty for all objects.
	Name string `json:"name,omitempty"`
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

// selected is what an argument selects.
func selected(a mapper.Argument, answer mapper.Answer, wait bool) Selected {
	if len(answer.Mappings) == 0 || answer.Set || wait {
		return Selected{strings.ToLower(a.Resource), a.Name}
	}
	return Selected{answer.Mappings[0].Resource.GroupResource().String(), a.Name}
}

// selection returns the Selection of what was asked for, in no namespace.
func selection(asked []Selected, exclude []string) Selection {
	all := map[string]bool{}
	for _, a := range asked {
		all[a.Resource] = all[a.Resource] || a.Name == ""
	}
	narrower := func(a Selected) bool { return a.Name != "" && all[a.Resource] }
	resources := slices.DeleteFunc(slices.Clone(asked), narrower)
	slices.SortFunc(resources, func(a, b Selected) int { return strings.Compare(a.String(), b.String()) })
	var excluded []string
	for _, name := range exclude {
		excluded = append(excluded, strings.ToLower(name))
	}
	return Selection{Resources: slices.Compact(resources), Exclude: sorted(excluded)}
}

// in adds the namespaces of r.
func (s *Selection) in(r Request) {
	if s.AllNamespaces = r.AllNamespaces; !s.AllNamespaces {
		s.Namespaces = sorted(r.where())
	}
}

// sorted returns each of words once.
func sorted(words []string) []string { return slices.Compact(slices.Sorted(slices.Values(words))) }
