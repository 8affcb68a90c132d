// Package lookup asks the server what helps people: what explains that there is nothing to
// watch, why an object is not ready, the Events about one, and who owns it. Nothing that
// decides what is watched depends on an answer.
package lookup

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"

	"dwatch/cli/cluster"
	"dwatch/internal/spelling"
	"dwatch/mapper"
	"dwatch/watcher/event"
)

const (
	Timeout  = 2 * time.Second // of a question that is only there to help
	maxNames = 500             // that are looked at
)

// Client asks one server. It may be used by several goroutines at the same time.
type Client struct {
	cluster *cluster.Cluster
	mapper  *mapper.Mapper
	objects metadata.Interface
	content dynamic.Interface
}

// New returns a Client. It asks nothing yet.
func New(c *cluster.Cluster, m *mapper.Mapper) (*Client, error) {
	config := c.QuietConfig()
	objects, err := metadata.NewForConfigAndClient(config, c.HTTP)
	if err != nil {
		return nil, err
	}
	content, err := dynamic.NewForConfigAndClient(config, c.HTTP)
	return &Client{c, m, objects, content}, err
}

// Near returns the name of an object beside t that is near t's; empty if there is
// none, t itself is there by now, or the server does not say.
func (c *Client) SimilarName(ctx context.Context, t event.Target) string {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	list, err := c.objects.Resource(t.Resource()).Namespace(t.Namespace).List(ctx, metav1.ListOptions{Limit: maxNames})
	if err != nil {
		return ""
	}
	var names []string
	for _, o := range list.Items {
		if o.Name == t.Name {
			return ""
		}
		names = append(names, o.Name)
	}
	return spelling.Nearest(t.Name, names)
}

var namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

// IsMissing reports whether a namespace does not exist, and the name of one that does and is near;
// empty if there is none, or the server does not say. With an error it does not say the first either.
func (c *Client) CheckNamespace(ctx context.Context, namespace string) (missing bool, meant string, err error) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	_, err = c.objects.Resource(namespaces).Get(ctx, namespace, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		return false, "", err
	}
	return true, c.SimilarName(ctx, event.Target{Mapping: event.NewMapping(namespaces, "Namespace", false), Name: namespace}), nil
}
