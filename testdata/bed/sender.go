package bed

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// Sender plays any number of API servers, which know nothing but ConfigMaps of 1.2 KB in the
// namespace default, and only send: to show what it costs to watch them. The first part of the path
// is the name of the server.
type Sender struct {
	// Objects is how many there are in each, and Updates how many changes follow these.
	Objects, Updates int
	// Hangs is the name of one that takes each request and does not answer.
	Hangs string
}

// Kubeconfig writes a kubeconfig with a context for each of some servers of a Sender at a URL.
func (*Sender) Kubeconfig(path, url string, names ...string) error {
	config := api.NewConfig()
	for _, name := range names {
		config.Clusters[name] = &api.Cluster{Server: url + "/" + name}
		config.AuthInfos[name] = &api.AuthInfo{}
		config.Contexts[name] = &api.Context{Cluster: name, AuthInfo: name}
	}
	return clientcmd.WriteToFile(*config, path)
}

// ServeHTTP implements http.Handler.
func (s *Sender) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if name == s.Hangs {
		<-r.Context().Done()
		return
	}
	w.Header().Set("Content-Type", "application/json")
	switch rest {
	case "api":
		fmt.Fprint(w, `{"kind":"APIVersions","versions":["v1"]}`)
	case "apis":
		fmt.Fprint(w, `{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`)
	case "api/v1":
		fmt.Fprint(w, `{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"configmaps","singularName":"configmap","namespaced":true,"kind":"ConfigMap","verbs":["get","list","watch"],"shortNames":["cm"]}]}`)
	case "api/v1/namespaces/kube-system":
		fmt.Fprintf(w, `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"kube-system","uid":"%s"}}`, name)
	case "api/v1/namespaces/default/configmaps":
		s.send(r.Context(), w, name)
	default:
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
	}
}

const (
	sentObject   = `{"type":"%s","object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"cm-%d","namespace":"default","uid":"%s-%d","resourceVersion":"%d","creationTimestamp":"2026-01-01T00:00:00Z"},"data":{"text":"%s"}}}` + "\n"
	sentBookmark = `{"type":"BOOKMARK","object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"resourceVersion":"%d","annotations":{"k8s.io/initial-events-end":"true"}}}}` + "\n"
)

// send sends what is there, what happens then, and nothing more until ctx ends.
func (s *Sender) send(ctx context.Context, w http.ResponseWriter, server string) {
	text := strings.Repeat("x", 1000)
	for i := range s.Objects {
		fmt.Fprintf(w, sentObject, "ADDED", i, server, i, i+1, text)
	}
	fmt.Fprintf(w, sentBookmark, s.Objects)
	for n := range s.Updates {
		i := n % s.Objects
		fmt.Fprintf(w, sentObject, "MODIFIED", i, server, i, s.Objects+n+1, text)
	}
	w.(http.Flusher).Flush()
	<-ctx.Done()
}
