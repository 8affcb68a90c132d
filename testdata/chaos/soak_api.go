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
	// account is dwatch's, in the namespace of that name.
	account = "soak"
	// tokenLasts is the shortest that the server gives a token for; kubelet asks for another one after tokenRenewed.
	tokenLasts, tokenRenewed = 10 * time.Minute, 8 * time.Minute
	// noticed is how long it may take until a server has noticed that a file was changed, or that a token is not to be taken any
	// more: it looks once a minute.
	noticed = 2 * time.Minute
)

// soakAPI is the API server, and that by which it and dwatch know each other.
type soakAPI struct {
	*server
	*gate                    // by which dwatch comes to it
	known *mount             // ca.crt and token, as each pod has them
	admin *rest.Config       // of those who write, who take any certificate
	http  *http.Client       // which does, too
	away  []*outage          // when the server was
	turn  int                // of tokens
	own   *testenv.Authority // of the serving certificate
}

// outage is when the server was away, as far as what was written about then may be told only in part.
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

// host is the HOST:PORT of the server itself.
func (a *soakAPI) host() string { return a.admin.Host[len("https://"):] }

// kubeconfig writes that of dwatch, which has files, as a pod has them.
func (a *soakAPI) kubeconfig(path string) error {
	config := api.NewConfig()
	config.CurrentContext = account
	config.Contexts[account] = &api.Context{Cluster: account, AuthInfo: account}
	config.Clusters[account] = &api.Cluster{Server: "https://" + a.address, CertificateAuthority: a.known.path("ca.crt")}
	config.AuthInfos[account] = &api.AuthInfo{TokenFile: a.known.path("token")}
	return clientcmd.WriteToFile(*config, path)
}

// newCertificate has the server show another certificate to whoever connects from now on.
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
	return eventually(ctx, "the API server shows its new certificate", func() bool {
		c, err := tls.Dial("tcp4", a.host(), &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			return false
		}
		defer c.Close()
		return bytes.Equal(c.ConnectionState().PeerCertificates[0].Raw, pair.Certificate[0])
	})
}

// announceAuthority has dwatch trust another authority besides, and returns it.
func (a *soakAPI) announceAuthority() (*testenv.Authority, error) {
	next := testenv.NewAuthority()
	return next, a.known.set(map[string][]byte{"ca.crt": slices.Concat(a.own.PEM, next.PEM)})
}

// adoptAuthority has the server show a certificate of another authority, and dwatch trust only that.
func (a *soakAPI) adoptAuthority(ctx context.Context, next *testenv.Authority) error {
	a.own = next
	return errors.Join(a.newCertificate(ctx), a.known.set(map[string][]byte{"ca.crt": next.PEM}))
}

// newToken gives dwatch another token, which ends with a Secret.
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

// lease is the Secret that the present token ends with.
func (a *soakAPI) lease() string { return fmt.Sprintf("token-%d", a.turn) }

// revokeToken ends the present token.
func (a *soakAPI) revokeToken(ctx context.Context) error {
	client, err := dynamic.NewForConfig(a.admin)
	if err != nil {
		return err
	}
	return client.Resource(secrets).Namespace(account).Delete(ctx, a.lease(), metav1.DeleteOptions{})
}

// awaitRefusal waits until the server takes the present token no more.
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

// restart ends the server, as a crash would or in good order, and starts it again.
func (a *soakAPI) restart(ctx context.Context, crash bool) error {
	gone := &outage{begun: time.Now()}
	a.away = append(a.away, gone)
	if crash {
		return a.crash(ctx, restartAfter)
	}
	return errors.Join(a.cluster.Stop(), a.start())
}

// back notes that dwatch has told of something since the last restart.
func (a *soakAPI) back() {
	if n := len(a.away); n > 0 && a.away[n-1].ended.IsZero() {
		a.away[n-1].ended = time.Now()
	}
}

// mayMiss reports whether a state that the server has acknowledged then may be missing between others: what was not told before it
// ended is listed after its start.
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
