package program

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// startKubelet starts a simulated kubelet that serves container logs, and creates its node, named like the namespace of
// the script, so that the API server gets the logs from it. The log of a container is in the file CONTAINER.log, or
// CONTAINER.previous.log. The container endless writes without end, and the container silent does not answer.
func startKubelet(ts *testscript.TestScript, neg bool, args []string) {
	b := of(ts)
	requests, err := os.Create(ts.MkAbs("kubelet.log"))
	ts.Check(err)
	ended, end := context.WithCancel(context.Background())
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(requests, "%s?%s\n", r.URL.Path, r.URL.Query().Encode())
		container := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
		switch container {
		case "silent":
			select {
			case <-r.Context().Done():
			case <-ended.Done():
			}
			return
		case "endless":
			for ended.Err() == nil {
				if _, err := fmt.Fprintln(w, strings.Repeat("again and ", 100)); err != nil {
					return
				}
			}
			return
		}
		if r.URL.Query().Get("previous") == "true" {
			container += ".previous"
		}
		text, err := os.ReadFile(ts.MkAbs(container + ".log"))
		if err != nil {
			http.Error(w, "there is no such log", http.StatusNotFound)
			return
		}
		lines := strings.SplitAfter(string(text), "\n")
		n, _ := strconv.Atoi(r.URL.Query().Get("tailLines"))
		tail := strings.Join(lines[max(0, len(lines)-1-n):], "")
		limit, _ := strconv.Atoi(r.URL.Query().Get("limitBytes"))
		io.WriteString(w, tail[:min(len(tail), limit)])
	}))
	ts.Defer(func() {
		end()
		server.CloseClientConnections()
		server.Close()
		requests.Close()
	})
	address := server.Listener.Addr().(*net.TCPAddr)
	node := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Node", "metadata": map[string]any{"name": b.objects.namespace},
		// DaemonSets of other scripts must not place pods there.
		"spec": map[string]any{"taints": []any{map[string]any{"key": "example.com/logs", "effect": "NoSchedule"}}},
		"status": map[string]any{
			"addresses":       []any{map[string]any{"type": "InternalIP", "address": address.IP.String()}},
			"daemonEndpoints": map[string]any{"kubeletEndpoint": map[string]any{"Port": int64(address.Port)}},
		},
	}}
	nodes := b.objects.client.Resource(corev1.SchemeGroupVersion.WithResource("nodes"))
	_, err = nodes.Create(context.Background(), node, metav1.CreateOptions{})
	ts.Check(err)
	ts.Defer(func() { ts.Check(nodes.Delete(context.Background(), b.objects.namespace, metav1.DeleteOptions{})) })
}
