package cluster

import (
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"
)

// TestEndpoint checks that clusters at one address differ by path or certificates, which may be in a file, and that the hash is
// empty without verified certificates.
func TestEndpoint(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ca")
	if err := os.WriteFile(file, []byte("ca\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	of := func(host string, tls rest.TLSClientConfig) string {
		t.Helper()
		text, err := (&Cluster{Config: &rest.Config{Host: host, TLSClientConfig: tls}}).EndpointHash()
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	ca := rest.TLSClientConfig{CAData: []byte("ca")}
	one := of("https://prod:6443", ca)
	if one == "" || one != of("https://prod:6443", rest.TLSClientConfig{CAFile: file}) {
		t.Errorf("got hash %q for certificate data, want the hash for a file with the same data", one)
	}
	for host, tls := range map[string]rest.TLSClientConfig{
		"https://prod:6444": ca, "https://prod:6443/k8s/clusters/2": ca, "https://prod:6443": {CAData: []byte("other")},
	} {
		if text := of(host, tls); text == "" || text == one {
			t.Errorf("%s: got hash %q, want another one than %q", host, text, one)
		}
	}
	if of("http://localhost:8001", rest.TLSClientConfig{}) != "" || of("https://prod:6443", rest.TLSClientConfig{Insecure: true}) != "" {
		t.Error("got a hash for a connection without verified certificates, want none")
	}
}
