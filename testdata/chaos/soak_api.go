package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"dwatch/testdata/testenv"
)

const (
	// account is the name of dwatch's service account and of its namespace.
	account = "soak"
	// tokenLasts is the shortest lifetime that the server allows for a token. The kubelet requests another one after
	// tokenRenewed.
	tokenLasts, tokenRenewed = 10 * time.Minute, 8 * time.Minute
	// noticed is how long a server may take to notice a changed file or a revoked token. It checks once a minute.
	noticed = 2 * time.Minute
)

// soakAPI is the API server with the credentials that it and dwatch use.
type soakAPI struct {
	*server
	*gate                    // dwatch connects through it
	known *mount             // ca.crt and token, as in each pod
	admin *rest.Config       // used by the writers; accepts any certificate
	http  *http.Client       // also accepts any certificate
	away  []*outage          // downtimes of the server
	turn  int                // number of the present token
	own   *testenv.Authority // signs the serving certificate
}

// outage is the time during which the server was down and dwatch had not caught up. Intermediate states from this time
// may be missing.
type outage struct{ begun, ended time.Time }

func newSoakAPI(s *server, dir string) (*soakAPI, error) {
	a := &soakAPI{server: s, own: testenv.NewAuthority(), admin: rest.CopyConfig(s.config)}
	a.admin.TLSClientConfig = rest.TLSClientConfig{Insecure: true}
	a.http = &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true, TLSHandshakeTimeout: 10 * time.Second,
	}, Timeout: 10 * time.Second}
	var err error
	if a.known, err = newMount(filepath.Join(dir, "account")); err != nil {
		return nil, err
	}
	a.gate, err = newGate(a.host())
	return a, err
}

// host returns the HOST:PORT of the server itself.
func (a *soakAPI) host() string { return a.admin.Host[len("https://"):] }

// kubeconfig writes dwatch's kubeconfig, which refers to files like those of a pod.
func (a *soakAPI) kubeconfig(path string) error {
	config := api.NewConfig()
	config.CurrentContext = account
	config.Contexts[account] = &api.Context{Cluster: account, AuthInfo: account}
	config.Clusters[account] = &api.Cluster{Server: "https://" + a.address, CertificateAuthority: a.known.path("ca.crt")}
	config.AuthInfos[account] = &api.AuthInfo{TokenFile: a.known.path("token")}
	return clientcmd.WriteToFile(*config, path)
}

// newCertificate replaces the serving certificate. New connections get it.
func (a *soakAPI) newCertificate(ctx context.Context) error {
	certificate, key := a.own.Sign("127.0.0.1")
	dir := filepath.Join(a.data, "certs")
	err := errors.Join(
		replaceFile(filepath.Join(dir, "apiserver.key"), string(key)),
		replaceFile(filepath.Join(dir, "apiserver.crt"), string(certificate)))
	if err != nil {
		return err
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return err
	}
	return eventually(ctx, "the API server uses its new certificate", func() bool {
		c, err := tls.Dial("tcp4", a.host(), &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			return false
		}
		defer c.Close()
		return bytes.Equal(c.ConnectionState().PeerCertificates[0].Raw, pair.Certificate[0])
	})
}

// announceAuthority makes dwatch trust a second authority, and returns it.
func (a *soakAPI) announceAuthority() (*testenv.Authority, error) {
	next := testenv.NewAuthority()
	return next, a.known.set(map[string][]byte{"ca.crt": slices.Concat(a.own.PEM, next.PEM)})
}

// adoptAuthority makes the server use a certificate of another authority, and dwatch trust only that.
func (a *soakAPI) adoptAuthority(ctx context.Context, next *testenv.Authority) error {
	a.own = next
	return errors.Join(a.newCertificate(ctx), a.known.set(map[string][]byte{"ca.crt": next.PEM}))
}

// newToken gives dwatch another token, which is valid while a Secret exists.
func (a *soakAPI) newToken(ctx context.Context) error {
	client, err := dynamic.NewForConfig(a.admin)
	if err != nil {
		return err
	}
	a.turn++
	secret := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": a.lease()}}}
	if secret, err = client.Resource(secrets).Namespace(account).Create(ctx, secret, metav1.CreateOptions{}); err != nil {
		return err
	}
	request := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "metadata": map[string]any{"name": account},
		"spec": map[string]any{
			"expirationSeconds": int64(tokenLasts.Seconds()),
			"boundObjectRef":    map[string]any{"apiVersion": "v1", "kind": "Secret", "name": a.lease(), "uid": string(secret.GetUID())},
		},
	}}
	accounts := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"})
	answer, err := accounts.Namespace(account).Create(ctx, request, metav1.CreateOptions{}, "token")
	if err != nil {
		return err
	}
	token, _, _ := unstructured.NestedString(answer.Object, "status", "token")
	return a.known.set(map[string][]byte{"token": []byte(token)})
}

var secrets = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}

// lease returns the name of the Secret to which the present token is bound.
func (a *soakAPI) lease() string { return fmt.Sprintf("token-%d", a.turn) }

// revokeToken revokes the present token.
func (a *soakAPI) revokeToken(ctx context.Context) error {
	client, err := dynamic.NewForConfig(a.admin)
	if err != nil {
		return err
	}
	return client.Resource(secrets).Namespace(account).Delete(ctx, a.lease(), metav1.DeleteOptions{})
}

// awaitRefusal waits until the server rejects the present token.
func (a *soakAPI) awaitRefusal(ctx context.Context) error {
	token := string(a.known.content("token"))
	return eventuallyWithin(ctx, tokenLasts+noticed, "the API server refuses the token", func() bool {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, a.admin.Host+"/api", nil)
		if err != nil {
			return false
		}
		request.Header.Set("Authorization", "Bearer "+token)
		answer, err := a.http.Do(request)
		if err != nil {
			return false
		}
		answer.Body.Close()
		return answer.StatusCode == http.StatusUnauthorized
	})
}

// restart kills or stops the server, and starts it again.
func (a *soakAPI) restart(ctx context.Context, crash bool) error {
	gone := &outage{begun: time.Now()}
	a.away = append(a.away, gone)
	if crash {
		return a.crash(ctx, restartAfter)
	}
	return errors.Join(a.cluster.Stop(), a.start())
}

// back marks the end of the last outage, because dwatch has caught up since.
func (a *soakAPI) back() {
	if n := len(a.away); n > 0 && a.away[n-1].ended.IsZero() {
		a.away[n-1].ended = time.Now()
	}
}

// mayMiss reports whether intermediate states that the server acknowledged at a time may be missing: states that dwatch
// had not received before an outage are skipped by the list after it.
func (a *soakAPI) mayMiss(at time.Time) bool {
	const before = 5 * time.Second
	return slices.ContainsFunc(a.away, func(o *outage) bool {
		return at.After(o.begun.Add(-before)) && (o.ended.IsZero() || at.Before(o.ended))
	})
}

func eventually(ctx context.Context, what string, holds func() bool) error {
	return eventuallyWithin(ctx, noticed, what, holds)
}

func eventuallyWithin(ctx context.Context, within time.Duration, what string, holds func() bool) error {
	for deadline := time.Now().Add(within); !holds(); {
		if !sleep(ctx, 200*time.Millisecond) {
			return context.Cause(ctx)
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("not within %v: %s", within, what)
		}
	}
	return nil
}
