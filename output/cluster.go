package output

import (
	"github.com/tidwall/gjson"

	"dwatch/watcher/event"
)

// WithCluster returns an object for a list of several clusters. Its first member "cluster" has the name of its cluster.
func WithCluster(o event.Object, cluster string) event.Object {
	content := append([]byte(`{"cluster":`), JSON(cluster)...)
	if raw := o.Raw(); len(raw) > len("{}") {
		content = append(append(content, ','), raw[1:]...)
	} else {
		content = append(content, '}')
	}
	return event.NewObject(o.Identity, string(content)).WithRow(o.Row())
}

// clusterOf returns the cluster of an object from WithCluster.
func clusterOf(o event.Object) string { return gjson.Get(o.Raw(), "cluster").String() }
