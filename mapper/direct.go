package mapper

import (
	"context"
	"errors"
	"net/url"
	"regexp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
)

// wholeRequests is how many requests it takes to learn all that a server serves.
const wholeRequests = 2

// version is what Kubernetes takes for a version in its order of versions. Else
// crontabs.stable.example.com would be of version "stable".
var version = regexp.MustCompile(`^v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?$`)

// qualified reads resource.version.group; that of the core group is empty.
func qualified(name string) (schema.GroupVersionResource, bool) {
	gvr, _ := schema.ParseResourceArg(name)
	if gvr == nil || gvr.Resource == "" || !version.MatchString(gvr.Version) {
		return schema.GroupVersionResource{}, false
	}
	if gvr.Group != "" && len(validation.IsDNS1123Subdomain(gvr.Group)) > 0 {
		return schema.GroupVersionResource{}, false // it would lead to another place in the server's URLs
	}
	return *gvr, true
}

// Prepare says which names are going to be resolved, so that together they take
// the fewest requests. It makes none.
func (m *Mapper) Prepare(names []string) {
	versions := make(map[schema.GroupVersion]bool)
	for _, name := range names {
		gvr, ok := qualified(name)
		versions[gvr.GroupVersion()] = true
		if !ok || len(versions) > wholeRequests {
			m.whole.Store(true)
			return
		}
	}
}

// direct resolves a fully qualified name by the one document about its version.
// It finds nothing, and that is no error, where it takes all that the server
// serves to tell: then that has to be learned, for what the name may mean
// otherwise and for the errors.
func (m *Mapper) direct(ctx context.Context, name string) ([]resource, error) {
	gvr, ok := qualified(name)
	since := *m.since.Load()
	if !ok || m.whole.Load() || m.latest.Load().isOf(since) {
		return nil, nil
	}
	known, err := m.learnVersion(ctx, gvr.GroupVersion(), since)
	if known == nil || err != nil {
		return nil, err
	}
	if r, ok := known.watchable.byResource(ctx, gvr); ok {
		return []resource{r}, nil
	}
	return nil, nil
}

// learnVersion returns what the server said about gv at since or later. It
// returns nil if the server said no, of which there are many kinds.
func (m *Mapper) learnVersion(ctx context.Context, gv schema.GroupVersion, since time.Time) (*snapshot, error) {
	done, err := m.takeTurn(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	if known := m.versions[gv]; known.isOf(since) {
		return known, nil
	}
	asked := time.Now()
	list, err := m.server.ServerResourcesForGroupVersionWithContext(quiet(ctx), gv.String())
	var unreachable *url.Error
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.As(err, &unreachable):
		return nil, notAsked(err)
	case err != nil:
		return nil, nil
	}
	list.GroupVersion = gv.String() // that is what was asked for
	served := metav1.GroupVersionForDiscovery{GroupVersion: gv.String(), Version: gv.Version}
	group := &metav1.APIGroup{
		Name:             gv.Group,
		Versions:         []metav1.GroupVersionForDiscovery{served},
		PreferredVersion: served,
	}
	known := newSnapshot(asked, m.cache, []*metav1.APIGroup{group}, []*metav1.APIResourceList{list}, nil)
	m.versions[gv] = known
	return known, nil
}
