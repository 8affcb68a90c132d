package page

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"
)

// Frequent requests of tests do not use kubectl, because its start takes many times as long as a request.

// server is a client for the API server of a cluster.
type server struct {
	url, token string
	client     *http.Client
}

// connect creates the client from the kubeconfig of a cluster.
func connect(t *testing.T, c *cluster) *server {
	t.Helper()
	var config struct {
		Clusters []struct {
			Cluster struct {
				Server string
				CA     []byte `json:"certificate-authority-data"`
			}
		}
		Users []struct{ User struct{ Token string } }
	}
	text := c.kubectl(t, "", "config", "view", "--raw", "--minify", "-o", "json")
	if err := json.Unmarshal([]byte(text), &config); err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(config.Clusters[0].Cluster.CA)
	return &server{
		url:    config.Clusters[0].Cluster.Server,
		token:  config.Users[0].User.Token,
		client: &http.Client{Timeout: patience, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}},
	}
}

// send sends a request with a body. The test fails if the server rejects it.
func (c *cluster) send(t *testing.T, method, path, contentType, body string) {
	t.Helper()
	c.connecting.Do(func() { c.server = connect(t, c) })
	if c.server == nil {
		t.Fatal("the kubeconfig of the cluster could not be read")
	}
	r, err := http.NewRequestWithContext(t.Context(), method, c.server.url+path, bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+c.server.token)
	r.Header.Set("Content-Type", contentType)
	answer, err := c.server.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode >= 300 {
		t.Fatalf("%s %s: %s, %v\n%s", method, path, answer.Status, err, text)
	}
}

// makeNamespace is like kubectl create namespace.
func (c *cluster) makeNamespace(t *testing.T, name string) {
	t.Helper()
	c.send(t, http.MethodPost, "/api/v1/namespaces?fieldManager=kubectl-create", "application/json",
		fmt.Sprintf(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":%q}}`, name))
}

// patch is like kubectl patch of a ConfigMap.
func (c *cluster) patch(t *testing.T, namespace, name, patch string) {
	t.Helper()
	c.send(t, http.MethodPatch, "/api/v1/namespaces/"+namespace+"/configmaps/"+name+"?fieldManager=kubectl-patch",
		"application/strategic-merge-patch+json", patch)
}
