package mapper

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Answer is what the server serves under one name, all of it from one look at the server.
type Answer struct {
	// Mappings are the resources that the name names, in the server's order of
	// priority; one, unless Set.
	Mappings []*meta.RESTMapping
	// Set: the name is a category or Everything, so what it names can change.
	Set bool
	// Alternatives are the resources of other groups that answer to the name and
	// were not taken, one for each group, in the server's order. There are none if
	// the core group won, or if the name says exactly which group it means.
	Alternatives []*meta.RESTMapping
	// Unsure are the group versions whose server did not answer: nothing is known
	// of what is in them.
	Unsure []schema.GroupVersion
}

// answer returns what name names. It has no Mappings if that is nothing.
func (s *snapshot) answer(name string) Answer {
	answer := Answer{Unsure: slices.Clone(s.failed)}
	found, set := s.watchable.find(name)
	answer.Mappings, answer.Set = mappings(found), set
	if len(found) == 1 && !set {
		answer.Alternatives = mappings(s.watchable.alternatives(name, found[0]))
	}
	return answer
}

func mappings(resources []resource) []*meta.RESTMapping {
	var result []*meta.RESTMapping
	for _, r := range resources {
		result = append(result, r.mapping())
	}
	return result
}
