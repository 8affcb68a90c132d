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

// documents asks for the two documents of discovery, /api and /apis, at the same
// time, where client-go waits for the one before it asks for the other. What is
// not as it should be is left to client-go.
type documents struct{ *discovery.DiscoveryClient }

var _ discovery.AggregatedDiscoveryInterfaceWithContext = documents{}

// document is what the server says about some groups.
type document struct {
	groups    *metav1.APIGroupList
	resources map[schema.GroupVersion]*metav1.APIResourceList
	failed    map[schema.GroupVersion]error
}

func (d documents) GroupsAndMaybeResourcesWithContext(ctx context.Context) (
	*metav1.APIGroupList, map[schema.GroupVersion]*metav1.APIResourceList, map[schema.GroupVersion]error, error,
) {
	core, named, err := d.both(ctx)
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

// both asks for the second document as soon as there is a connection for the first: any sooner, and
// there would be two connections. Without one there is nothing more to ask.
func (d documents) both(ctx context.Context) (core, named *document, err error) {
	connected := make(chan bool, 1)
	say := func(yes bool) {
		select {
		case connected <- yes:
		default: // it has been said
		}
	}
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { say(true) }}
	var coreErr error
	var asking sync.WaitGroup
	asking.Go(func() {
		core, coreErr = d.ask(httptrace.WithClientTrace(ctx, trace), "/api")
		say(false)
	})
	if <-connected {
		named, err = d.ask(ctx, "/apis")
	}
	asking.Wait()
	return core, named, cmp.Or(coreErr, err)
}

// ask returns nil if the server does not know the form in which one document says all.
func (d documents) ask(ctx context.Context, path string) (*document, error) {
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
	said := &document{}
	said.groups, said.resources, said.failed = discovery.SplitGroupsAndResources(list)
	return said, nil
}
