package mapper

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http/httptrace"
	"net/url"
	"sync"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// parallelDiscovery requests the two documents of aggregated discovery, /api and /apis, in parallel.
// client-go requests one after the other. If the server does not support this form or answers with
// an error, parallelDiscovery leaves discovery to client-go.
type parallelDiscovery struct{ *discovery.DiscoveryClient }

var _ discovery.AggregatedDiscoveryInterfaceWithContext = parallelDiscovery{}

// document is a decoded discovery document.
type document struct {
	groups    *metav1.APIGroupList
	resources map[schema.GroupVersion]*metav1.APIResourceList
	failed    map[schema.GroupVersion]error
}

// GroupsAndMaybeResourcesWithContext implements discovery.AggregatedDiscoveryInterfaceWithContext.
func (d parallelDiscovery) GroupsAndMaybeResourcesWithContext(ctx context.Context) (
	*metav1.APIGroupList, map[schema.GroupVersion]*metav1.APIResourceList, map[schema.GroupVersion]error, error,
) {
	core, named, err := d.fetchBoth(ctx)
	var unreachable *url.Error
	switch {
	case errors.As(err, &unreachable):
		return nil, nil, nil, err
	case err != nil || core == nil || named == nil:
		return d.DiscoveryClient.GroupsAndMaybeResourcesWithContext(ctx)
	}
	core.groups.Groups = append(core.groups.Groups, named.groups.Groups...)
	maps.Copy(core.resources, named.resources)
	maps.Copy(core.failed, named.failed)
	return core.groups, core.resources, core.failed, nil
}

// fetchBoth requests the second document as soon as the first request has a connection. If it did so earlier,
// there would be two connections. If the first request gets no connection, it does not request the second document.
func (d parallelDiscovery) fetchBoth(ctx context.Context) (core, named *document, err error) {
	connected := make(chan bool, 1)
	signal := func(ok bool) {
		select {
		case connected <- ok:
		default: // only the first signal counts
		}
	}
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { signal(true) }}
	var coreErr error
	var running sync.WaitGroup
	running.Go(func() {
		core, coreErr = d.fetch(httptrace.WithClientTrace(ctx, trace), "/api")
		signal(false)
	})
	if <-connected {
		named, err = d.fetch(ctx, "/apis")
	}
	running.Wait()
	return core, named, cmp.Or(coreErr, err)
}

// fetch requests and decodes a document. It returns nil if the server does not support aggregated discovery.
func (d parallelDiscovery) fetch(ctx context.Context, path string) (*document, error) {
	var contentType string
	body, err := d.RESTClient().Get().AbsPath(path).SetHeader("Accept", discovery.AcceptV2+","+discovery.AcceptV1).
		Do(ctx).ContentType(&contentType).Raw()
	if err != nil {
		return nil, err
	}
	if all, _ := discovery.ContentTypeIsGVK(contentType, apidiscovery.SchemeGroupVersion.WithKind("APIGroupDiscoveryList")); !all {
		return nil, nil
	}
	var list apidiscovery.APIGroupDiscoveryList
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, err
	}
	result := &document{}
	result.groups, result.resources, result.failed = discovery.SplitGroupsAndResources(list)
	return result, nil
}
