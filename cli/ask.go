package cli

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"dwatch/mapper"
	"dwatch/watcher/event"
)

const (
	// helpTimeout bounds a question that is only there to help.
	helpTimeout = 2 * time.Second
	// helpNames is how many names are looked at.
	helpNames = 500
)

// helper asks the server what explains that there is nothing to watch. Where it has
// no answer, or may not have it, there is nothing to say.
type helper struct {
	objects metadata.Interface
	content dynamic.Interface
}

func (s *session) newHelper() (*helper, error) {
	// People need no warnings about these questions.
	config := rest.CopyConfig(s.Config)
	config.WarningHandler = rest.NoWarnings{}
	config.ContentType = runtime.ContentTypeJSON // not all that speaks the API speaks protobuf
	objects, err := metadata.NewForConfigAndClient(config, s.HTTP)
	if err != nil {
		return nil, err
	}
	content, err := dynamic.NewForConfigAndClient(config, s.HTTP)
	return &helper{objects, content}, err
}

// near returns the name of an object beside t that is near t's; empty if there is
// none, or t itself is there by now.
func (h *helper) near(ctx context.Context, t event.Target) string {
	ctx, cancel := context.WithTimeout(ctx, helpTimeout)
	defer cancel()
	list, err := h.objects.Resource(t.Resource()).Namespace(t.Namespace).List(ctx, metav1.ListOptions{Limit: helpNames})
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
	return mapper.Nearest(t.Name, names)
}

var namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

// isMissing reports whether the server says that a namespace does not exist. An
// error means that it does not say.
func (h *helper) isMissing(ctx context.Context, namespace string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, helpTimeout)
	defer cancel()
	_, err := h.objects.Resource(namespaces).Get(ctx, namespace, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	return false, err
}
