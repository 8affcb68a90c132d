package testenv

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// FakeServers imitates any number of API servers that send ConfigMaps of 1.2 KB in the namespace default and support
// nothing else. It serves to measure the cost of watching. The first element of a request's path names the server.
type FakeServers struct {
	// Objects is the number of objects in each server. Updates is the number of changes that follow.
	Objects, Updates int
	// Rate is the number of updates per second. Zero means as fast as the client reads.
	Rate int
	// TimestampEvery makes every nth update contain the time at which it was sent, as the member "mark" of its data, in
	// nanoseconds since 1970. Zero disables this.
	TimestampEvery int
	// HangingServer is the name of a server that accepts requests and never answers.
	HangingServer string
}

// WriteKubeconfig writes a kubeconfig to path, with a context for each of the named servers. url is where FakeServers listens.
func (*FakeServers) WriteKubeconfig(path, url string, names ...string) error {
	config := api.NewConfig()
	for _, name := range names {
		config.Clusters[name] = &api.Cluster{Server: url + "/" + name}
		config.AuthInfos[name] = &api.AuthInfo{}
		config.Contexts[name] = &api.Context{Cluster: name, AuthInfo: name}
	}
	return clientcmd.WriteToFile(*config, path)
}

// ServeHTTP implements http.Handler.
func (s *FakeServers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if name == s.HangingServer {
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
	sentObject   = `{"type":"%s","object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"cm-%d","namespace":"default","uid":"%s-%d","resourceVersion":"%d","creationTimestamp":"2026-01-01T00:00:00Z"},"data":{%s"text":"%s"}}}` + "\n"
	sentBookmark = `{"type":"BOOKMARK","object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"resourceVersion":"%d","annotations":{"k8s.io/initial-events-end":"true"}}}}` + "\n"
)

// send sends the initial objects and the updates. It then keeps the watch open until ctx is done.
func (s *FakeServers) send(ctx context.Context, w http.ResponseWriter, server string) {
	text := strings.Repeat("x", 1000)
	for i := range s.Objects {
		fmt.Fprintf(w, sentObject, "ADDED", i, server, i, i+1, "", text)
	}
	fmt.Fprintf(w, sentBookmark, s.Objects)
	w.(http.Flusher).Flush()
	began := time.Now()
	for n := range s.Updates {
		if s.Rate > 0 && !s.pace(ctx, w, began, n) {
			return
		}
		mark := ""
		if s.TimestampEvery > 0 && n%s.TimestampEvery == s.TimestampEvery-1 {
			mark = fmt.Sprintf(`"mark":"%d",`, time.Now().UnixNano())
		}
		i := n % s.Objects
		fmt.Fprintf(w, sentObject, "MODIFIED", i, server, i, s.Objects+n+1, mark, text)
	}
	w.(http.Flusher).Flush()
	<-ctx.Done()
}

// pace flushes the earlier updates and waits until update n is due. It returns false if ctx is done.
func (s *FakeServers) pace(ctx context.Context, w http.ResponseWriter, began time.Time, n int) bool {
	wait := time.Until(began.Add(time.Duration(n) * time.Second / time.Duration(s.Rate)))
	if wait <= 0 {
		return true
	}
	w.(http.Flusher).Flush()
	select {
	case <-time.After(wait):
		return true
	case <-ctx.Done():
		return false
	}
}
