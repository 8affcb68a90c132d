package page

import (
	"bytes"
	"context"
	"time"

	"dwatch/watcher/event"
)

func (ts *targets) clusterStates() (all []event.ClusterState) {
	if ts.members == nil {
		return nil
	}
	for _, m := range ts.members() {
		all = append(all, ts.links.ClusterState(m))
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
	for _, s := range ts.clusterStates() {
		all = append(all, cluster{
			Name: clip(s.Name, maxName), Color: ts.palette.ColorIndex(s.Name), State: states[s.Phase], Since: millis(s.Since), Text: clip(s.ConnectError, maxValue),
		})
	}
	return all
}

// clusters are how each of several clusters is; of a recording, whether it is known what was there. The Hub is locked.
func (v *viewer) clusters() []cluster {
	if v.ofPast == nil {
		return v.targets.clusters(v.clock())
	}
	var all []cluster
	for _, name := range v.ofPast.Clusters {
		one := cluster{Name: clip(name, maxName), Color: v.targets.palette.ColorIndex(name), State: live}
		for _, g := range v.ofPast.StateGapsAtTime {
			if g.Cluster == name {
				one.State, one.Since, one.Text = unknown, millis(g.From), clip(g.Reason, maxValue)
				break
			}
		}
		all = append(all, one)
	}
	return all
}

// sendClusters sends the states of the clusters to the viewer if they differ from the last message.
func (v *viewer) sendClusters(ctx context.Context) error {
	if v.Clusters == nil {
		return nil
	}
	v.mu.Lock()
	message := encode(clustersMessage{"clusters", v.clusters()})
	v.mu.Unlock()
	if bytes.Equal(message, v.lastClusters) {
		return nil
	}
	v.lastClusters = message
	return v.to.send(ctx, message)
}
