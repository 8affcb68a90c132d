package cli

import (
	"slices"
	"sync"

	"dwatch/mapper"
	"dwatch/watcher/event"
	"dwatch/watcher/recording"
	"dwatch/watcher/recording/remote"
)

// runs are what this run records of each cluster, by name; an empty one: of the only one.
type runs struct {
	mu  sync.Mutex
	all map[string]*shown
}

// of is what this run records of a cluster.
func (r *runs) of(cluster string) *shown {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil {
		r.all = map[string]*shown{}
	}
	if r.all[cluster] == nil {
		r.all[cluster] = &shown{}
	}
	return r.all[cluster]
}

// shown is what this run shows of a cluster. nil: nobody is given any of it.
type shown struct {
	mu    sync.Mutex
	about *recording.RunInfo // nil: it has not begun
	seen  []event.Key        // the targets of which it has got all
}

// begin notes what is recorded.
func (s *shown) begin(about recording.RunInfo) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.about, s.seen = &about, nil
}

// see notes that the server has given all of a target.
func (s *shown) see(e event.Event) {
	if s == nil || e.Type != event.Synced {
		return
	}
	key := e.Target.Key()
	key.Cluster = ""
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.seen, key) {
		s.seen = append(s.seen, key)
	}
}

// offer gives who may see the page what is recorded beside it, and of earlier runs what shows no more.
func (b *beside) offer() *remote.Handler {
	o := &remote.Handler{WithholdReason: b.runs.withhold}
	if b.each != nil {
		o.ListRecordings = func() ([]recording.ClusterRecording, error) { return recording.FindClusterRecordings(b.each.dir) }
		return o
	}
	only := []recording.ClusterRecording{{Store: recording.Dir(b.one.dir)}}
	o.ListRecordings = func() ([]recording.ClusterRecording, error) { return only, nil }
	return o
}

// withhold says why a segment is not given to who may see what this run shows; empty: it is.
func (r *runs) withhold(cluster string, of recording.Segment) string {
	return r.of(cluster).withhold(of)
}

func (s *shown) withhold(of recording.Segment) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.about == nil:
		return "this run has not begun to record the cluster"
	case !hidesAll(of.RunInfo.Masks, s.about.Masks):
		return "it hides less than is hidden now"
	case !isWithin(of.RunInfo.Selection, s.about.Selection):
		return "it has more than is shown now"
	}
	for _, held := range of.Targets { // which names such as '*' stand for is another matter of rights
		if !slices.ContainsFunc(s.seen, func(seen event.Key) bool { return hasAll(seen, held) }) {
			return "it has " + held.Resource.String() + ", which this run has not been given"
		}
	}
	return ""
}

// hasAll reports whether all objects of one target are objects of another one.
func hasAll(of, one event.Key) bool {
	return of.Resource == one.Resource && (of.Namespace == "" || of.Namespace == one.Namespace) && (of.Name == "" || of.Name == one.Name)
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
	isOther := func(s event.SelectedResource) bool {
		return slices.Contains(other.Resources, event.SelectedResource{Resource: mapper.AllResources}) ||
			slices.Contains(other.Resources, event.SelectedResource{Resource: s.Resource}) || slices.Contains(other.Resources, s)
	}
	lacks := func(all []string) func(string) bool {
		return func(name string) bool { return !slices.Contains(all, name) }
	}
	switch {
	case slices.ContainsFunc(one.Resources, func(s event.SelectedResource) bool { return !isOther(s) }):
		return false
	case slices.ContainsFunc(other.Exclude, lacks(one.Exclude)):
		return false
	case one.NamespaceLabels != other.NamespaceLabels, one.Labels != other.Labels, one.Fields != other.Fields, other.Shard != event.Shard{} && one.Shard != other.Shard:
		return false
	}
	return other.AllNamespaces || !one.AllNamespaces && !slices.ContainsFunc(one.Namespaces, lacks(other.Namespaces))
}
