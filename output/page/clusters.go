package page

import (
	"bytes"
	"context"
	"time"

	"dwatch/watcher/event"
)

func (ts *targets) standings() (all []event.Standing) {
	if ts.members == nil {
		return nil
	}
	for _, m := range ts.members() {
		all = append(all, ts.links.Standing(m))
	}
	return all
}

// clusters are how each of several is; nil if it is one. What is known of them is of now, whether marks
// have come or not: one that has never answered sends none.
func (ts *targets) clusters(now time.Time) []cluster {
	if ts.members == nil {
		return nil
	}
	ts.update(now)
	all := []cluster{}
	for _, s := range ts.standings() {
		all = append(all, cluster{
			Name: clip(s.Name, maxName), Color: ts.palette.Of(s.Name), State: states[s.Phase], Since: millis(s.Since), Text: clip(s.Why, maxValue),
		})
	}
	return all
}

// tellClusters tells the viewer how the clusters are, if that is otherwise than before.
func (v *viewer) tellClusters(ctx context.Context) error {
	if v.Clusters == nil {
		return nil
	}
	v.mu.Lock()
	message := encode(clustersMessage{"clusters", v.targets.clusters(v.clock())})
	v.mu.Unlock()
	if bytes.Equal(message, v.known) {
		return nil
	}
	v.known = message
	return v.to.send(ctx, message)
}
