package source

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/watcher/codec"
	"dwatch/watcher/event"
)

// Servers send no bookmarks for resources that they do not cache, such as Events. The watch of such a resource reaches a
// probe only with the next change. If few revisions have been written since, lists prove that none of them changed the
// resource: a list at each revision (resourceVersionMatch=Exact) shows every write, because a written object has that
// revision as its resourceVersion, and a deleted object is missing. Two lists would not be enough. They do not show an
// object that was created and deleted in between.
//
// Clusters that write many revisions usually have Events, too.

const (
	// maxCompared is the maximum number of revisions that are compared for a probe. One list is requested for each, and
	// one for the revision before them unless its objects are known.
	maxCompared = 10
	// maxComparedObjects is the maximum number of objects of a list that is compared.
	maxComparedObjects = 100
	// compareTimeout is how long after its probe a comparison may end. The next probe waits for it.
	compareTimeout = event.ProbeInterval - time.Second
)

// comparison is the result of a comparison of lists.
type comparison struct {
	// from and to are resourceVersions. No object changed between them. If to is empty, nothing is known.
	from, to string
	// objects identifies the objects at to and their resourceVersions.
	objects []string
}

// hasNoBookmarks reports whether servers do not cache a resource by default, and therefore send no bookmarks for it.
func hasNoBookmarks(r schema.GroupResource) bool {
	return r.Resource == "events" && (r.Group == "" || r.Group == "events.k8s.io")
}

// compare returns a comparison from the resourceVersion c.from to the resourceVersion to, the answer of a probe that was
// sent at the time sent. c.objects are the objects at c.from, or nil if they are unknown. compare makes no request if there
// are too many revisions between the two.
func (s *stream) compare(ctx context.Context, c comparison, to string, sent time.Time) comparison {
	ctx, cancel := context.WithDeadline(ctx, sent.Add(compareTimeout))
	defer cancel()
	first, err := strconv.ParseUint(c.from, 10, 64)
	last, errLast := strconv.ParseUint(to, 10, 64)
	if err != nil || errLast != nil || last <= first || last-first > maxCompared {
		return comparison{}
	}
	if c.objects != nil { // the objects at first are known
		first++
	}
	for revision := first; revision <= last; revision++ {
		objects := s.objectsAt(ctx, strconv.FormatUint(revision, 10))
		if objects == nil || c.objects != nil && !slices.Equal(objects, c.objects) {
			return comparison{}
		}
		c.objects = objects
	}
	c.to = to
	return c
}

// objectsAt returns what identifies the objects at exactly one resourceVersion, or nil if that is unknown.
func (s *stream) objectsAt(ctx context.Context, resourceVersion string) []string {
	list, err := s.ResourceInterface.List(ctx, metav1.ListOptions{
		LabelSelector:        s.options.LabelSelector,
		FieldSelector:        s.options.FieldSelector,
		ResourceVersion:      resourceVersion,
		ResourceVersionMatch: metav1.ResourceVersionMatchExact,
		Limit:                maxComparedObjects,
	})
	if err != nil || list.GetResourceVersion() != resourceVersion || list.GetContinue() != "" {
		return nil
	}
	objects := make([]string, len(list.Items))
	for i := range list.Items {
		o := codec.IdentityOf(&list.Items[i])
		objects[i] = strings.Join([]string{o.Namespace, o.Name, string(o.UID), o.ResourceVersion}, "/")
	}
	return objects
}
