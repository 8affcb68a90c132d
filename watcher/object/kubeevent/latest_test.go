package kubeevent

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"dwatch/watcher/object/owner"
)

// TestLatestMessages checks that the latest message about an object is returned, regardless of the order of calls.
func TestLatestMessages(t *testing.T) {
	ref := func(kind, namespace, name, uid string) owner.Ref {
		return owner.Ref{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: kind}, Namespace: namespace, Name: name, UID: types.UID(uid)}
	}
	all := []struct {
		about owner.Ref
		text  string
		at    int64
	}{
		{ref("Pod", "shop", "web", "1"), "first", 1},
		{ref("Pod", "shop", "web", "1"), "second", 3},
		{ref("Pod", "shop", "web", ""), "by name", 2},
		{ref("Pod", "shop", "web", "2"), "of the one after it", 9},
		{ref("Pod", "shop", "api", "3"), "a", 5},
		{ref("Pod", "shop", "api", "3"), "b", 5},
		{ref("Pod", "other", "job", ""), "of another namespace", 5},
		{ref("Node", "", "n1", "n1"), "by a kubelet", 4},
		{ref("Node", "default", "n2", ""), "in the namespace of the Event", 4},
	}
	var forward, backward, none LatestMessages
	for n := range all {
		forward.Add(all[n].about, all[n].text, time.Unix(all[n].at, 0))
		last := all[len(all)-1-n]
		backward.Add(last.about, last.text, time.Unix(last.at, 0))
	}
	for _, test := range []struct {
		of   owner.Ref
		want string
		at   int64
	}{
		{ref("Pod", "shop", "web", "1"), "second", 3},
		{ref("Pod", "shop", "web", "2"), "of the one after it", 9},
		{ref("Pod", "shop", "web", "7"), "by name", 2},
		{ref("Pod", "shop", "api", "3"), "b", 5},
		{ref("Pod", "shop", "job", "4"), "", 0},
		{ref("ConfigMap", "shop", "web", "5"), "", 0},
		{ref("Node", "", "n1", "6"), "by a kubelet", 4},
		{ref("Node", "", "n2", "6"), "in the namespace of the Event", 4},
	} {
		for _, n := range []*LatestMessages{&forward, &backward} {
			if got, at := n.Get(test.of); got != test.want || test.want != "" && at.Unix() != test.at {
				t.Errorf("%v: got %q at %s, want %q at %d", test.of, got, at, test.want, test.at)
			}
		}
		if got, at := none.Get(test.of); got != "" || !at.IsZero() {
			t.Errorf("%v: got %q without any message", test.of, got)
		}
	}
}
