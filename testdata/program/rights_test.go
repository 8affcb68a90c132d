//go:build unix

package program

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
)

// grantWatch lets a user watch, but not list, ConfigMaps in a new namespace.
func grantWatch(t *testing.T) (user, namespace string) {
	t.Helper()
	o, err := newObjects()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.leave)
	file := filepath.Join(t.TempDir(), "role.yaml")
	role := `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: watch}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [watch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: watch}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: watch}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: $NS}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: one}
`
	if err := os.WriteFile(file, []byte(role), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := o.apply(file, strings.NewReplacer("$NS", o.namespace)); err != nil {
		t.Fatal(err)
	}
	return o.namespace, o.namespace
}

// isReview reports whether the request is a review of the user's permissions or identity.
func isReview(r *http.Request) bool { return strings.Contains(r.URL.Path, "/selfsubject") }

// TestRightsUnknown checks that dwatch asks for its permissions only once if the server does not answer that, and
// otherwise works as usual.
func TestRightsUnknown(t *testing.T) {
	t.Parallel()
	user, namespace := grantWatch(t)
	for name, answer := range map[string]http.HandlerFunc{
		"empty":     func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "{}") },
		"not found": http.NotFound,
		"forbidden": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) },
		"broken":    func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>") },
		"closes":    func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"mute": func(_ http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body) // otherwise the handler does not notice that the client disconnects
			<-r.Context().Done()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			f := front{instead: func(w http.ResponseWriter, r *http.Request) bool {
				if !isReview(r) {
					return false
				}
				asked.Add(1)
				answer(w, r)
				return true
			}}
			server := f.serve(t)
			p := startPiped(t, "", "cm,secrets,ep,svc", "--server", server, "--as", user, "-n", namespace)
			p.says(t, `^secrets in namespace .* cannot watch resource "secrets"`)
			p.says(t, `^endpoints in namespace .* cannot watch`)
			p.says(t, `^services in namespace .* cannot watch`)
			p.signal(syscall.SIGINT)
			if out := string(p.rest(t)); !strings.Contains(out, `"name":"one"`) {
				t.Errorf("not watched: %q", out)
			}
			if strings.Contains(p.stderr.String(), "list resource") {
				t.Errorf("dwatch reports a permission that it cannot know:\n%s", p.stderr.String())
			}
			if n := asked.Load(); n != 1 {
				t.Errorf("asked %d times", n)
			}

			p = startPiped(t, "", "secrets", "-A", "--server", server, "--as", user)
			p.refuses(t, `secrets is forbidden: User ".*" cannot watch .*; -n NAMESPACE needs the permission only in that namespace`)
			p = startPiped(t, "", "rbac", "cm", "--server", server, "--request-timeout", "3s")
			p.refuses(t, `(Unable to connect to .*|the server does not report your user name \(.*\): name the user of the role with --as USER, or --as system:serviceaccount:NAMESPACE:NAME)`)
		})
	}
}

// TestRightsQuestions checks that dwatch sends one review for a user with all permissions, whatever the number of
// targets, and none with --quiet or for a list.
func TestRightsQuestions(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		args []string
		want []string
	}{
		"one":     {[]string{"cm", "--types", "deleted"}, []string{"configmaps"}},
		"several": {[]string{"cm,secrets,deploy", "--types", "deleted"}, []string{"*"}},
		"named":   {[]string{"cm/a", "--types", "deleted"}, []string{"configmaps/a"}},
		"quiet":   {[]string{"cm", "--types", "deleted", "-q"}, nil},
		"list":    {[]string{"list", "cm"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reviews := make(chan string, 100)
			f := front{instead: func(_ http.ResponseWriter, r *http.Request) bool {
				if isReview(r) {
					body, _ := io.ReadAll(r.Body)
					r.Body = io.NopCloser(strings.NewReader(string(body)))
					reviews <- asks(t, body)
				}
				return false
			}}
			p := startPiped(t, "", append(test.args, "--server", f.serve(t), "-n", "default")...)
			for _, want := range test.want {
				if got := <-reviews; got != want {
					t.Errorf("asked for %s, want %s", got, want)
				}
			}
			if name != "list" && name != "quiet" {
				p.says(t, "^no .* yet$|waiting for it$")
			}
			p.signal(syscall.SIGINT)
			<-p.ended
			if len(reviews) > 0 {
				t.Errorf("dwatch also asked for %s", <-reviews)
			}
		})
	}
}

// asks returns the RESOURCE/NAME of a review.
func asks(t *testing.T, body []byte) string {
	var review authorizationv1.SelfSubjectAccessReview
	if err := json.Unmarshal(body, &review); err != nil || review.Spec.ResourceAttributes == nil {
		t.Errorf("not a review: %q", body)
		return ""
	}
	a := review.Spec.ResourceAttributes
	return strings.TrimSuffix(a.Resource+"/"+a.Name, "/")
}
