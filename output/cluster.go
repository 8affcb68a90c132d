package output

import (
	"github.com/tidwall/gjson"

	"dwatch/watcher/event"
)

// InCluster returns an object of a list of several clusters: with a member "cluster" that says of which
// it is, before those that the server sent.
func WithCluster(o event.Object, cluster string) event.Object {
	content := append([]byte(`{"cluster":`), JSON(cluster)...)
	if raw := o.Raw(); len(raw) > len("{}") {
		content = append(append(content, ','), raw[1:]...)
	} else {
		content = append(content, '}')
	}
	return event.NewObject(o.Identity, string(content)).WithRow(o.Row())
}

// clusterOf returns what InCluster was given.
func clusterOf(o event.Object) string { return gjson.Get(o.Raw(), "cluster").String() }
