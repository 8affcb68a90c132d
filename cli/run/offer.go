package run

import (
	"slices"
	"sync"

	"dwatch/mapper"
	"dwatch/watcher/event"
	"dwatch/watcher/recording"
	"dwatch/watcher/recording/remote"
)

// exposedClusters is what this run records of each cluster, by name. The name is empty if there is one cluster.
type exposedClusters struct {
	mu  sync.Mutex
	all map[string]*exposed
}

func (e *exposedClusters) of(cluster string) *exposed {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.all == nil {
		e.all = map[string]*exposed{}
	}
	if e.all[cluster] == nil {
		e.all[cluster] = &exposed{}
	}
	return e.all[cluster]
}

// exposed is what this run shows of a cluster, so that --from gives no more than that. A run that only records has none: begin and
// observe accept nil.
type exposed struct {
	mu     sync.Mutex
	about  *recording.RunInfo // nil until the recording has begun
	synced []event.Key        // the targets whose objects the server has given completely
}

func (e *exposed) begin(about recording.RunInfo) {
	if e == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.about, e.synced = &about, nil
}

func (e *exposed) observe(ev event.Event) {
	if e == nil || ev.Type != event.Synced {
		return
	}
	key := ev.Target.Key()
	key.Cluster = ""
	e.mu.Lock()
	defer e.mu.Unlock()
	if !slices.Contains(e.synced, key) {
		e.synced = append(e.synced, key)
	}
}

// Offer gives the recording to other runs of dwatch (--from URL): all segments that contain no more than this run shows.
func (r *Recordings) Offer() *remote.Handler {
	o := &remote.Handler{WithholdReason: r.exposed.withhold}
	if r.set != nil {
		o.ListRecordings = func() ([]recording.ClusterRecording, error) { return recording.FindClusterRecordings(r.dir) }
		return o
	}
	only := []recording.ClusterRecording{{Store: recording.Dir(r.dir)}}
	o.ListRecordings = func() ([]recording.ClusterRecording, error) { return only, nil }
	return o
}

// withhold returns why a segment is not given away, or "" if it is.
func (e *exposedClusters) withhold(cluster string, of recording.Segment) string {
	return e.of(cluster).withhold(of)
}

func (e *exposed) withhold(of recording.Segment) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.about == nil:
		return "this run has not begun to record the cluster"
	case !masksAll(of.RunInfo.Masks, e.about.Masks):
		return "it hides less than is hidden now"
	case !isWithin(of.RunInfo.Selection, e.about.Selection):
		return "it has more than is shown now"
	}
	for _, held := range of.Targets { // which resources a name such as '*' stands for depends on the user's rights
		if !slices.ContainsFunc(e.synced, func(key event.Key) bool { return contains(key, held) }) {
			return "it has " + held.Resource.String() + ", which this run has not been given"
		}
	}
	return ""
}

// contains reports whether all objects of the target one are objects of the target of.
func contains(of, one event.Key) bool {
	return of.Resource == one.Resource && (of.Namespace == "" || of.Namespace == one.Namespace) && (of.Name == "" || of.Name == one.Name)
}

// masksAll reports whether masks hide everything that others hide. Both are texts of MasksText.
func masksAll(masks, others string) bool {
	hidden := maskWords(masks)
	return !slices.ContainsFunc(maskWords(others), func(word string) bool {
		return word != secretsShown && !slices.Contains(hidden, word)
	})
}

// secretsShown is how MasksText begins if Secrets are not masked.
const secretsShown = "secrets=false"

// maskWords splits a text of MasksText at spaces that are not within quotes.
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

// isWithin reports whether the selection other certainly selects everything that one does.
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
