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

// clusters returns the current state of each cluster, or nil without Options.Clusters. It also updates the state of the
// watch: a cluster that has never answered sends no status events that would do so.
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

// clusters returns the state of each cluster. At a time of the past, the state is unknown if there is a gap, and live
// otherwise. The Hub must be locked.
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
