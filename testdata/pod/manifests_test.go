//go:build linux

package pod

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// manifests are the manifests of a command line that the tests read.
type manifests struct {
	set   *appsv1.StatefulSet
	rules map[string]string
	roles []*rbacv1.ClusterRole // or Roles, if they have a namespace
}

// applied applies what dwatch manifests prints.
func applied(t *testing.T, namespace, dir string, line []string) manifests {
	t.Helper()
	cmd := exec.Command(program, append([]string{"manifests", "--image", "i", "--into", namespace, "--kubeconfig", cluster.Kubeconfig}, line...)...)
	cmd.Dir = dir
	var wrong bytes.Buffer
	cmd.Stderr = &wrong
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, wrong.String())
	}
	file := filepath.Join(t.TempDir(), "manifests.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := cluster.Run("apply", file); err != nil {
		t.Fatal(err)
	}
	var m manifests
	for d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096); ; {
		var raw json.RawMessage
		if err := d.Decode(&raw); err == io.EOF {
			return m
		} else if err != nil {
			t.Fatal(err)
		}
		var kind metav1.TypeMeta
		err := json.Unmarshal(raw, &kind)
		switch kind.Kind {
		case "StatefulSet":
			m.set = new(appsv1.StatefulSet)
			err = errors.Join(err, json.Unmarshal(raw, m.set))
		case "Role", "ClusterRole":
			role := new(rbacv1.ClusterRole)
			err = errors.Join(err, json.Unmarshal(raw, role))
			m.roles = append(m.roles, role)
		case "ConfigMap":
			of := new(corev1.ConfigMap)
			err = errors.Join(err, json.Unmarshal(raw, of))
			m.rules = of.Data
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// fewer returns variants of the roles. Each lacks one verb or resource of a rule, which is the key.
func fewer(roles []*rbacv1.ClusterRole) map[string][]*rbacv1.ClusterRole {
	all := map[string][]*rbacv1.ClusterRole{}
	for i, role := range roles {
		for j, rule := range role.Rules {
			for what, list := range map[string]func(*rbacv1.PolicyRule) *[]string{
				"verb":     func(r *rbacv1.PolicyRule) *[]string { return &r.Verbs },
				"resource": func(r *rbacv1.PolicyRule) *[]string { return &r.Resources },
			} {
				for k, item := range *list(&rule) {
					left := make([]*rbacv1.ClusterRole, len(roles))
					for n, r := range roles {
						left[n] = r.DeepCopy()
					}
					of := list(&left[i].Rules[j])
					if *of = slices.Delete(*of, k, k+1); len(*of) == 0 {
						left[i].Rules = slices.Delete(left[i].Rules, j, j+1)
					}
					all[fmt.Sprintf("%s %s of %v %v", what, item, rule.Resources, rule.Verbs)] = left
				}
			}
		}
	}
	return all
}

// grant creates an account, binds the roles to it, and waits until the server has applied them.
func grant(t *testing.T, namespace, account string, roles []*rbacv1.ClusterRole) {
	t.Helper()
	made := metav1.CreateOptions{}
	if _, err := client.CoreV1().ServiceAccounts(namespace).Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: account}}, made); err != nil {
		t.Fatal(err)
	}
	subjects := []rbacv1.Subject{{Kind: "ServiceAccount", Name: account, Namespace: namespace}}
	for _, r := range roles {
		meta := metav1.ObjectMeta{Name: r.Name + "-" + account, Namespace: r.Namespace}
		ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name}
		var err, bound error
		if r.Namespace == "" {
			_, err = client.RbacV1().ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: meta, Rules: r.Rules}, made)
			_, bound = client.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subjects}, made)
		} else {
			ref.Kind = "Role"
			_, err = client.RbacV1().Roles(r.Namespace).Create(t.Context(), &rbacv1.Role{ObjectMeta: meta, Rules: r.Rules}, made)
			_, bound = client.RbacV1().RoleBindings(r.Namespace).Create(t.Context(), &rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subjects}, made)
		}
		if err := errors.Join(err, bound); err != nil {
			t.Fatal(err)
		}
	}
	awaitRights(t, namespace, account, roles)
}

// awaitRights waits until the server allows an account the first verb and resource of each rule of the roles. RBAC changes
// take effect with a short delay.
func awaitRights(t *testing.T, namespace, account string, roles []*rbacv1.ClusterRole) {
	t.Helper()
	for _, role := range roles {
		for _, rule := range role.Rules {
			review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
				User:               "system:serviceaccount:" + namespace + ":" + account,
				ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: role.Namespace, Verb: rule.Verbs[0], Group: rule.APIGroups[0], Resource: rule.Resources[0]},
			}}
			if len(rule.ResourceNames) > 0 {
				review.Spec.ResourceAttributes.Name = rule.ResourceNames[0]
			}
			(&container{server: &server{}}).until(t, "allowed", func() bool {
				got, err := client.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), review, metav1.CreateOptions{})
				return err == nil && got.Status.Allowed
			})
		}
	}
}

// hook is a webhook that collects the sources of the events, which name the cluster.
type hook struct {
	*httptest.Server
	sources chan string
}

func newHook(t *testing.T) *hook {
	h := &hook{sources: make(chan string, 10_000)}
	h.Server = httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		h.sources <- r.Header.Get("Ce-Source") + " " + r.Header.Get("Authorization")
	}))
	t.Cleanup(h.Close)
	return h
}

const identified = "urn:uuid:"

// denial matches messages about missing rights.
var denial = regexp.MustCompile(`(?i)cannot (get|list|watch|create|update)|forbidden|left out|denied`)

const watched = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: NS}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: web}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: one, namespace: NS}
`

// about is an Event. If its object no longer exists, dwatch has to look up the owner.
const about = `---
apiVersion: v1
kind: Event
metadata: {name: %[4]s, namespace: %[2]s}
involvedObject: {apiVersion: %[1]s, kind: %[3]s, name: %[5]s, namespace: %[2]s, uid: %[3]s-%[5]s}
reason: Seen
message: seen
`

// rulesFile has two rules, one of them with a token file.
const rulesFile = `apiVersion: dwatch/v1alpha1
kind: Rules
rules:
- {name: one, resources: [cm], namespace: NS, to: HOOK/a, to-ca: ca.crt}
- {name: two, resources: [cm, deploy], namespace: NS, to: HOOK/b, to-ca: ca.crt, to-token-file: token}
`

// eventsAbout returns Events about the Service web, and about a missing object of each kind that may belong to a Service.
func eventsAbout(namespace string) (text string) {
	for i, kind := range []string{
		"v1 Pod", "v1 ReplicationController", "apps/v1 DaemonSet", "apps/v1 Deployment", "apps/v1 ReplicaSet", "apps/v1 StatefulSet", "batch/v1 CronJob", "batch/v1 Job", "v1 Service",
	} {
		version, kind, _ := strings.Cut(kind, " ")
		text += fmt.Sprintf(about, version, namespace, kind, fmt.Sprint("about-", i), "gone")
	}
	return text + fmt.Sprintf(about, "v1", namespace, "Service", "about-web", "web")
}

// bench is a namespace with objects to watch, a receiver, and the files that a command line names.
type bench struct {
	namespace, dir string
	*hook
	secret map[string]string
	place  *strings.Replacer
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{namespace: namespaceFor(t), dir: t.TempDir(), hook: newHook(t)}
	b.secret = map[string]string{"ca.crt": string(ca(b.Server)), "token": "opensesame"}
	b.place = strings.NewReplacer("NS", b.namespace, "HOOK", b.URL)
	files := maps.Clone(b.secret)
	files["rules.yaml"], files["objects.yaml"] = b.place.Replace(rulesFile), b.place.Replace(watched)+eventsAbout(b.namespace)
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(b.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := cluster.Run("apply", filepath.Join(b.dir, "objects.yaml")); err != nil {
		t.Fatal(err)
	}
	return b
}

// TestRights checks that the roles of dwatch manifests are sufficient and minimal. With them the pod works and reports no
// missing right. Without any verb or resource, dwatch reports a missing right, fails, or its events do not identify the
// cluster.
func TestRights(t *testing.T) {
	for name, line := range map[string]string{
		"stream": "cm,deploy -n NS",
		"send":   "send cm -n NS --to HOOK --to-ca ca.crt --to-token-file token --state feed --dead-letters dead --verify 1h",
		"all":    "send cm,nodes -A --to HOOK --to-ca ca.crt --changes --settle 1s",
		"for":    "send events --for svc/web -n NS --to HOOK --to-ca ca.crt",
		"record": "record rec cm,secrets -n NS --max-size 1Gi",
		"rules":  "send -f rules.yaml --state kept",
		"chosen": "send cm --namespace-selector kubernetes.io/metadata.name=NS --to HOOK --to-ca ca.crt",
		"serve":  "serve deploy -n NS --addr :8080 --serve-insecure",
		"lease":  "send cm -n NS --to HOOK --to-ca ca.crt --state feed --lease feed",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			m := applied(t, b.namespace, b.dir, strings.Fields(b.place.Replace(line)))
			awaitRights(t, b.namespace, "dwatch", m.roles)
			b.works(t, m, strings.HasPrefix(line, "send"))
			number := 0
			for without, roles := range fewer(m.roles) {
				// TestRBACOfPage covers the rights that the page needs only while it has viewers.
				if name == "serve" && !strings.Contains(without, "[deployments]") {
					continue
				}
				number++
				account := fmt.Sprintf("fewer-%d", number)
				grant(t, b.namespace, account, roles)
				b.lacks(t, m, account, without)
			}
		})
	}
}

// works runs the pod with all its rights, and checks that it works.
func (b *bench) works(t *testing.T, m manifests, delivers bool) {
	t.Helper()
	c := start(t, m.set, "dwatch", b.secret, m.rules)
	c.until(t, "ready", func() bool { return c.hasEnded() || c.isReady(t.Context()) })
	if delivers {
		if source := <-b.sources; !strings.HasPrefix(source, identified) {
			t.Errorf("the source of an event is %s, which does not identify the cluster", source)
		}
	}
	c.stop(t)
	if said := c.text(); denial.MatchString(said) {
		t.Fatalf("refused %q: %s", c.refusals(), said)
	}
	kept, err := os.ReadDir(c.volume)
	if keeps := m.set.Spec.Template.Spec.Volumes; err != nil || len(kept) > 0 != slices.ContainsFunc(keeps, func(v corev1.Volume) bool { return v.Name == "state" }) {
		t.Errorf("the volume contains %v, %v", kept, err)
	}
	if !delivers && c.out.Len() == 0 && len(kept) == 0 && !strings.Contains(c.text(), "http") {
		t.Errorf("the pod has done nothing: %s", c.text())
	}
}

// lacks runs the pod as an account without one right, and waits until the lack shows.
func (b *bench) lacks(t *testing.T, m manifests, account, without string) {
	t.Helper()
	for len(b.sources) > 0 {
		<-b.sources
	}
	// Start without a Lease of earlier runs.
	if err := client.CoordinationV1().Leases(b.namespace).DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	c := start(t, m.set, account, b.secret, m.rules)
	c.until(t, "said without "+without, func() bool {
		select {
		case source := <-b.sources:
			if !strings.HasPrefix(source, identified) {
				return true
			}
		default:
		}
		// record does not report that it lacks this right, but its request is refused.
		asked := m.set.Spec.Template.Spec.Containers[0].Args[0] == "record" && strings.Contains(without, "[namespaces]") && len(c.refusals()) > 0
		return c.hasEnded() || denial.MatchString(c.text()) || asked
	})
	_ = c.Process.Kill()
	<-c.ended
}
