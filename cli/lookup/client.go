// Package lookup queries the server for more than the watch delivers: similar names, why an object is not ready, Events
// about an object, its owners and related objects, and logs. Most results only help people. But --for depends on owners and
// related objects.
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
	Timeout  = 2 * time.Second // limits a query whose result is optional
	maxNames = 500             // maximum number of objects of a resource that are listed to find some of them
)

// Client queries one server. It is safe for concurrent use.
type Client struct {
	cluster *cluster.Cluster
	mapper  *mapper.Mapper
	objects metadata.Interface
	content dynamic.Interface
}

// New returns a Client. It makes no request.
func New(c *cluster.Cluster, m *mapper.Mapper) (*Client, error) {
	config := c.QuietConfig()
	objects, err := metadata.NewForConfigAndClient(config, c.HTTP)
	if err != nil {
		return nil, err
	}
	content, err := dynamic.NewForConfigAndClient(config, c.HTTP)
	return &Client{c, m, objects, content}, err
}

// SimilarName returns the name of an existing object that is similar to t's name. It is empty if there is none, if t exists
// by now, or if the query fails. If there are more than maxNames objects, it considers only some of them.
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

// CheckNamespace reports whether a namespace is missing, and the name of a similar one, which is empty if there is none. An
// error means that the server did not answer whether the namespace exists.
func (c *Client) CheckNamespace(ctx context.Context, namespace string) (missing bool, meant string, err error) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	_, err = c.objects.Resource(namespaces).Get(ctx, namespace, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		return false, "", err
	}
	return true, c.SimilarName(ctx, event.Target{Mapping: event.NewMapping(namespaces, "Namespace", false), Name: namespace}), nil
}
