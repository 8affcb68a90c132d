//go:build unix

package program

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes"

	"dwatch/testdata/readme"
)

// manifestsFor returns the objects that dwatch manifests prints for args, with the namespace of o as --into.
func manifestsFor(t *testing.T, o *objects, args ...string) []unstructured.Unstructured {
	t.Helper()
	cmd := dwatchCmd(append([]string{"manifests", "--image", "registry.example.com/dwatch:v1", "--into", o.namespace}, args...)...)
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, complaint.String())
	}
	var all []unstructured.Unstructured
	for d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096); ; {
		var u unstructured.Unstructured
		if err := d.Decode(&u.Object); err == io.EOF {
			return all
		} else if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		all = append(all, u)
	}
}

func statefulSetIn(t *testing.T, all []unstructured.Unstructured) *appsv1.StatefulSet {
	t.Helper()
	i := slices.IndexFunc(all, func(u unstructured.Unstructured) bool { return u.GetKind() == "StatefulSet" })
	if i < 0 {
		t.Fatal("the manifests have no StatefulSet")
	}
	set := new(appsv1.StatefulSet)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(all[i].Object, set, true); err != nil {
		t.Fatal(err)
	}
	return set
}

// restrict makes the API server admit only pods of the Pod Security Standard "restricted" in the namespace.
func restrict(t *testing.T, o *objects) {
	t.Helper()
	u := &unstructured.Unstructured{}
	u.SetAPIVersion("v1")
	u.SetKind("Namespace")
	u.SetName(o.namespace)
	u.SetLabels(map[string]string{"pod-security.kubernetes.io/enforce": "restricted"})
	if err := o.applyOne(t.Context(), u); err != nil {
		t.Fatal(err)
	}
}

// TestManifests checks that the API server accepts all fields of the printed objects, and that a restricted namespace
// admits the pod. dwatch then runs with the arguments of that pod, with the mounted files and the token of its service
// account, and delivers an event.
func TestManifests(t *testing.T) {
	t.Parallel()
	o := rbacObjects(t)
	restrict(t, o)
	tokens := make(chan string, 1000)
	hook := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { tokens <- r.Header.Get("Authorization") }))
	t.Cleanup(hook.Close)
	files := t.TempDir()
	writeCA(t, hook, filepath.Join(files, "ca.crt"))
	if err := os.WriteFile(filepath.Join(files, "token"), []byte("opensesame"), 0o600); err != nil {
		t.Fatal(err)
	}
	all := manifestsFor(t, o, "send", "cm,deploy", "--namespace", o.namespace, "--to", hook.URL, "--to-ca", filepath.Join(files, "ca.crt"),
		"--to-token-file", filepath.Join(files, "token"), "--state", "here/feed.state", "--dead-letters=dead", "--drain", "0s", "--where", `object.metadata.name != "kube-root-ca.crt"`)
	for _, u := range all {
		if err := o.applyOne(t.Context(), &u); err != nil {
			t.Errorf("%s: %v", u.GetKind(), err)
		}
	}
	set := statefulSetIn(t, all)
	o.admit(t, set)
	o.create(t, "one")
	p := o.asPod(t, set, files)
	if token := <-tokens; token != "Bearer opensesame" {
		t.Errorf("the receiver got %q", token)
	}
	if p.Process.Signal(os.Interrupt) != nil || p.Wait() != nil {
		t.Errorf("dwatch ended with %v", p.ProcessState)
	}
}

// TestManifestsRules does the same as TestManifests with rules, which the manifests put into a ConfigMap.
func TestManifestsRules(t *testing.T) {
	t.Parallel()
	o := rbacObjects(t)
	restrict(t, o)
	paths := make(chan string, 1000)
	hook := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		paths <- r.URL.Path + " " + r.Header.Get("Authorization")
	}))
	t.Cleanup(hook.Close)
	files := t.TempDir()
	writeCA(t, hook, filepath.Join(files, "ca.crt"))
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(files, "token"), "opensesame")
	path := filepath.Join(t.TempDir(), "rules.yaml")
	write(path, strings.NewReplacer("HOOK", hook.URL, "FILES", files, "NS", o.namespace).Replace(`apiVersion: dwatch/v1alpha1
kind: Rules
rules:
- {name: one, resources: [cm/one], namespace: NS, to: HOOK/a, to-ca: FILES/ca.crt, to-token-file: FILES/token}
- {name: two, resources: [cm/one, secrets], namespace: [NS], changes: true, where: ["type == 'ADDED'", "object.metadata.name == 'one'"], to: HOOK/b, to-ca: FILES/ca.crt}
`))
	all := manifestsFor(t, o, "send", "-f", path, "--state", "kept")
	kinds := map[string]unstructured.Unstructured{}
	for _, u := range all {
		kinds[u.GetKind()] = u
		if err := o.applyOne(t.Context(), &u); err != nil {
			t.Errorf("%s: %v", u.GetKind(), err)
		}
	}
	set := statefulSetIn(t, all)
	o.admit(t, set)
	if of := set.Spec.Template.Annotations; len(of) > 0 {
		t.Errorf("the pod template has annotations, so changed rules would restart the pod, although it rereads them: %v", of)
	}
	mounted, _, err := unstructured.NestedString(kinds["ConfigMap"].Object, "data", "rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(files+"-rules", 0o700); err != nil {
		t.Fatal(err)
	}
	write(filepath.Join(files+"-rules", "rules.yaml"), strings.ReplaceAll(mounted, "/etc/dwatch/", files+"/"))
	o.create(t, "one")
	p := o.asPod(t, set, files)
	got := []string{<-paths, <-paths}
	slices.Sort(got)
	if diff := cmp.Diff([]string{"/a Bearer opensesame", "/b "}, got); diff != "" {
		t.Errorf("the receivers got %s", diff)
	}
	if p.Process.Signal(os.Interrupt) != nil || p.Wait() != nil {
		t.Errorf("dwatch ended with %v", p.ProcessState)
	}
}

// admit checks by a dry run that the API server admits a pod of the set.
func (o *objects) admit(t *testing.T, set *appsv1.StatefulSet) {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "one", Labels: set.Spec.Template.Labels}, Spec: set.Spec.Template.Spec}
	_, err := kubernetes.NewForConfigOrDie(o.config).CoreV1().Pods(o.namespace).Create(t.Context(), pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		t.Error(err)
	}
}

// asPod runs dwatch with the arguments of the set's pod, the token of its service account, and local directories for its
// mounts.
func (o *objects) asPod(t *testing.T, set *appsv1.StatefulSet, files string) *exec.Cmd {
	t.Helper()
	spec := set.Spec.Template.Spec
	token, err := kubernetes.NewForConfigOrDie(o.config).CoreV1().ServiceAccounts(o.namespace).
		CreateToken(t.Context(), spec.ServiceAccountName, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	at := strings.NewReplacer("/etc/dwatch", files, "/var/lib/dwatch", t.TempDir(), "--listen=:9090", "--listen=127.0.0.1:0", "$$", "$")
	var args []string
	for _, arg := range spec.Containers[0].Args {
		args = append(args, at.Replace(arg))
	}
	ca := filepath.Join(t.TempDir(), "ca")
	if err := os.WriteFile(ca, o.config.CAData, 0o600); err != nil {
		t.Fatal(err)
	}
	// There is no kubeconfig, as in a pod.
	args = append(args, "--kubeconfig", os.DevNull, "--server", o.config.Host, "--certificate-authority", ca, "--token", token.Status.Token)
	p := exec.Command(filepath.Join(binaries, "dwatch"), args...)
	p.Stderr = t.Output()
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Process.Kill() })
	return p
}

// TestManifestsRights checks that the service account gets exactly the permissions that dwatch rbac prints. Another test
// shows that these suffice.
func TestManifestsRights(t *testing.T) {
	t.Parallel()
	o := rbacObjects(t)
	for _, line := range []string{"cm,deploy -n NS", "send nodes,po -A --to https://hooks.example.com --state s", "serve deploy/a -n NS --addr :8443 --tls-cert c --tls-key k"} {
		args := strings.Fields(strings.ReplaceAll(line, "NS", o.namespace))
		all := manifestsFor(t, o, args...)
		roles := slices.DeleteFunc(all, func(u unstructured.Unstructured) bool {
			return !regexp.MustCompile("Role(Binding)?$").MatchString(u.GetKind())
		})
		want := printedRBAC(t, append(args, "--as", "system:serviceaccount:"+o.namespace+":dwatch"))
		if len(want) == 0 || !slices.EqualFunc(roles, want, func(a, b unstructured.Unstructured) bool { return equalJSON(t, a, b) }) {
			t.Errorf("%s: got %v, want %v", line, roles, want)
		}
	}
}

func equalJSON(t *testing.T, a, b unstructured.Unstructured) bool {
	t.Helper()
	one, err := a.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	other, err := b.MarshalJSON()
	return err == nil && bytes.Equal(one, other)
}

// TestManifestsMonitoring checks that the manifests have a PodMonitor and a PrometheusRule if --monitoring is given, and that a server
// with these types accepts them.
func TestManifestsMonitoring(t *testing.T) {
	t.Parallel()
	o := rbacObjects(t)
	for _, u := range manifestsFor(t, o, "cm", "-A") {
		if kind := u.GetKind(); kind == "PodMonitor" || kind == "PrometheusRule" {
			t.Errorf("there is a %s without --monitoring", kind)
		}
	}
	o.applyText(t, readme.Read(t, "testdata/readme/monitoring.yaml"))
	var kinds []string
	for _, u := range manifestsFor(t, o, "cm", "-A", "--monitoring") {
		kinds = append(kinds, u.GetKind())
		err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
			return o.applyOne(t.Context(), &u) == nil, nil // the types may not be served yet
		})
		if err != nil {
			t.Errorf("the server rejects %v", u)
		}
	}
	if !slices.Contains(kinds, "PodMonitor") || !slices.Contains(kinds, "PrometheusRule") {
		t.Errorf("got %q", kinds)
	}
}

// TestManifestsKustomize checks that kubectl kustomize builds all written objects.
func TestManifestsKustomize(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "base")
	manifestsFor(t, rbacObjects(t), "serve", "cm", "-A", "--addr", ":8080", "--serve-insecure", "--kustomize", dir)
	text, err := exec.Command(readme.Path(t, "bin/kubectl"), "kustomize", dir).Output()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	written := -1 // the kustomization.yaml is not an object
	for _, file := range files {
		content, readErr := os.ReadFile(file)
		err = errors.Join(err, readErr)
		written += bytes.Count(content, []byte("\nkind: "))
	}
	if built := bytes.Count(text, []byte("\nkind: ")); err != nil || built != written || built < 7 {
		t.Errorf("%v, built %d of %d objects in\n%s", err, built, written, text)
	}
}

func writeCA(t *testing.T, server *httptest.Server, file string) {
	t.Helper()
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}
