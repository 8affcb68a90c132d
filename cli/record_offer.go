package cli

import (
	"slices"
	"sync"

	"dwatch/mapper"
	"dwatch/watcher/event"
	"dwatch/watcher/recording"
	"dwatch/watcher/recording/share"
)

// runs are what this run records of each cluster; an empty name: of the only one.
type runs struct {
	mu  sync.Mutex
	all map[string]recording.About
}

// begun notes what is recorded of a cluster.
func (r *runs) begun(cluster string, about recording.About) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil {
		r.all = map[string]recording.About{}
	}
	r.all[cluster] = about
}

// offer gives who may see the page what is recorded beside it, and of earlier runs what shows no more.
func (b *beside) offer() *share.Offer {
	o := &share.Offer{Withhold: b.runs.withhold}
	if b.each != nil {
		o.Parts = func() ([]recording.Part, error) { return recording.Parts(b.each.dir) }
		return o
	}
	only := []recording.Part{{Store: recording.Dir(b.one.dir)}}
	o.Parts = func() ([]recording.Part, error) { return only, nil }
	return o
}

// withhold says why what an earlier run recorded is not given to who may see what this one shows; empty: it is.
func (r *runs) withhold(cluster string, of recording.About) string {
	r.mu.Lock()
	now, known := r.all[cluster]
	r.mu.Unlock()
	switch {
	case !known:
		return "this run has not begun to record the cluster"
	case !hidesAll(of.Masks, now.Masks):
		return "it hides less than is hidden now"
	case !isWithin(of.Selection, now.Selection):
		return "it has more than is shown now"
	}
	return ""
}

// hidesAll reports whether what masks hide, as masksText says them, others hide, too.
func hidesAll(masks, others string) bool {
	hidden := maskWords(masks)
	return !slices.ContainsFunc(maskWords(others), func(word string) bool {
		return word != secretsShown && !slices.Contains(hidden, word)
	})
}

// secretsShown is what masksText begins with where it hides none.
const secretsShown = "secrets=false"

// maskWords are the parts of what masksText says: a space within quotes is part of one.
func maskWords(masks string) (words []string) {
	quoted, escaped, begin := false, false, 0
	for at, c := range masks + " " {
		switch {
		case escaped:
			escaped = false
		case quoted && c == '\\':
			escaped = true
		case c == '"':
			quoted = !quoted
		case c == ' ' && !quoted, at == len(masks):
			words, begin = append(words, masks[begin:at]), at+1
		}
	}
	return words
}

// isWithin reports whether all that one selection selects another one does, too, by what both say.
func isWithin(one, other event.Selection) bool {
	isOther := func(s event.Selected) bool {
		return slices.Contains(other.Resources, event.Selected{Resource: mapper.Everything}) ||
			slices.Contains(other.Resources, event.Selected{Resource: s.Resource}) || slices.Contains(other.Resources, s)
	}
	lacks := func(all []string) func(string) bool {
		return func(name string) bool { return !slices.Contains(all, name) }
	}
	switch {
	case slices.ContainsFunc(one.Resources, func(s event.Selected) bool { return !isOther(s) }):
		return false
	case slices.ContainsFunc(other.Exclude, lacks(one.Exclude)):
		return false
	case one.NamespaceLabels != other.NamespaceLabels, one.Labels != other.Labels, one.Fields != other.Fields:
		return false
	}
	return other.AllNamespaces || !one.AllNamespaces && !slices.ContainsFunc(one.Namespaces, lacks(other.Namespaces))
}
