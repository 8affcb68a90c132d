//go:build linux

package program

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"dwatch/testdata/testenv"
)

// readmeObjects is the directory of objects.yaml, which exists before each example, and of the files that examples
// apply.
const readmeObjects = "../readme"

// stage is the cluster of the README's examples. It is not the cluster that all tests share, because examples stop it,
// and because it must contain no other objects.
type stage struct {
	flags      []string // flags of the cluster program
	dir        string
	kubeconfig string // dwatch's kubeconfig, which always has the same address
	port       string
	cluster    *testenv.Cluster
	objects    *objects
	us         *stage // the second cluster of examples with several clusters
}

func newStage(t *testing.T, kind string) *stage {
	t.Helper()
	dir := t.TempDir()
	s := &stage{dir: dir, kubeconfig: filepath.Join(dir, "kubeconfig"), port: "0"}
	if kind == controllers {
		s.flags = []string{"--controllers"}
	}
	t.Cleanup(func() {
		if s.cluster != nil {
			if err := s.cluster.Stop(); err != nil {
				t.Error(err)
			}
		}
	})
	if err := s.start(s.port, s.kubeconfig); err != nil {
		t.Fatal(err)
	}
	server, err := url.Parse(s.objects.config.Host)
	if err != nil {
		t.Fatal(err)
	}
	s.port = server.Port()
	if kind == clusters {
		s.us = newStage(t, "")
		s.kubeconfig = s.contexts(t)
	}
	return s
}

// contexts writes a kubeconfig with contexts for both clusters, for a user without permissions, and for an address
// without a server.
func (s *stage) contexts(t *testing.T) (path string) {
	t.Helper()
	eu, err := clientcmd.LoadFromFile(s.kubeconfig)
	us, err2 := clientcmd.LoadFromFile(s.us.kubeconfig)
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	config := api.NewConfig()
	add := func(name string, from *api.Config, user string) {
		here := from.Contexts[from.CurrentContext]
		config.Clusters[name], config.AuthInfos[name] = from.Clusters[here.Cluster], from.AuthInfos[cmp.Or(user, here.AuthInfo)]
		config.Contexts[name] = &api.Context{Cluster: name, AuthInfo: name}
	}
	add("prod-eu", eu, "")
	add("prod-us", us, "")
	add("prod-denied", us, "limited")
	add("prod-down", us, "")
	config.Clusters["prod-down"] = &api.Cluster{Server: "https://127.0.0.1:1"}
	path = filepath.Join(s.dir, "contexts")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// start starts the API server with its earlier data, and writes a kubeconfig.
func (s *stage) start(port, kubeconfig string) (err error) {
	s.cluster, err = testenv.StartCluster(append([]string{"--data", filepath.Join(s.dir, "data"), "--port", port, "--kubeconfig", kubeconfig}, s.flags...)...)
	if err != nil {
		return err
	}
	s.objects, err = objectsIn(s.cluster, metav1.NamespaceDefault)
	return err
}

// outage kills the API server, and starts another one with the same data on another port.
func (s *stage) outage() error {
	s.cluster.Kill()
	s.cluster = nil
	return s.start("0", filepath.Join(s.dir, "elsewhere"))
}

// back starts the API server at its first address again. It does not have the changes made during the outage in its
// watch cache, so it cannot send them to a resumed watch.
func (s *stage) back() error {
	stopped := s.cluster
	s.cluster = nil
	if err := stopped.Stop(); err != nil {
		return err
	}
	return s.start(s.port, s.kubeconfig)
}

// available waits until a Deployment is rolled out.
func (s *stage) available(name string) error {
	return s.awaitDeployment(name, func(d *appsv1.Deployment) bool { return d.Status.AvailableReplicas == *d.Spec.Replicas })
}

// awaitDeployment waits until the controller has observed the latest generation of a Deployment, and done returns true.
func (s *stage) awaitDeployment(name string, done func(*appsv1.Deployment) bool) error {
	client, err := s.objects.resource(context.Background(), "deployments.v1.apps", metav1.NamespaceDefault)
	if err != nil {
		return err
	}
	return s.objects.await(context.Background(), client, name, "", func(e watch.Event) bool {
		d := &appsv1.Deployment{}
		u, ok := e.Object.(*unstructured.Unstructured)
		return ok && runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, d) == nil &&
			d.Status.ObservedGeneration == d.Generation && done(d)
	})
}

// pendingPod writes the status of a Deployment's Pod on node-3, which has no kubelet. It waits until the Deployment reports
// the Pod.
func (s *stage) pendingPod(deployment, status string) error {
	err := s.awaitDeployment(deployment, func(d *appsv1.Deployment) bool { return d.Status.UpdatedReplicas == *d.Spec.Replicas })
	if err != nil {
		return err
	}
	ctx := context.Background()
	pods := s.objects.client.Resource(corev1.SchemeGroupVersion.WithResource("pods")).Namespace(metav1.NamespaceDefault)
	found, err := pods.List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=node-3"})
	if err != nil {
		return err
	}
	for _, pod := range found.Items {
		err = errors.Join(err, s.objects.patch("pods/"+pod.GetName(), `{"status":`+status+`}`))
	}
	return err
}

// clear resets the cluster to the objects of objects.yaml.
func (s *stage) clear(t *testing.T) {
	t.Helper()
	if s.us != nil {
		s.us.clear(t)
	}
	files, err := filepath.Glob(filepath.Join(readmeObjects, "*.yaml"))
	for _, file := range files {
		err = errors.Join(err, s.remove(t.Context(), file))
	}
	if err == nil {
		err = s.objects.apply(filepath.Join(readmeObjects, "objects.yaml"), strings.NewReplacer())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// remove deletes the objects of a file, except Namespaces and CustomResourceDefinitions.
func (s *stage) remove(ctx context.Context, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	for documents := yaml.NewYAMLOrJSONDecoder(file, 4096); ; {
		u := &unstructured.Unstructured{}
		if err := documents.Decode(u); err == io.EOF {
			return nil
		} else if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if kind := u.GetKind(); kind == "Namespace" || kind == "CustomResourceDefinition" {
			continue
		}
		if err := s.removeOne(ctx, u); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
}

func (s *stage) removeOne(ctx context.Context, u *unstructured.Unstructured) error {
	gvk := u.GroupVersionKind()
	client, err := s.objects.resource(ctx, gvk.Kind+"."+gvk.Version+"."+gvk.Group, u.GetNamespace())
	if err != nil {
		return nil // its CRD does not exist yet, so the object does not either
	}
	if err = client.Delete(ctx, u.GetName(), metav1.DeleteOptions{}); apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

var syncedWatches = regexp.MustCompile(`(?m)^apiserver_watch_list_duration_seconds_count\{.*resource="(.*?)".*\} (\d+)$`)

// syncs returns for each resource how many watches the API server has sent their initial objects.
func (s *stage) syncs() (map[string]int, error) {
	metrics, err := s.objects.discovery.RESTClient().Get().AbsPath("/metrics").DoRaw(context.Background())
	if err != nil {
		return nil, err
	}
	counts := map[string]int{}
	for _, found := range syncedWatches.FindAllStringSubmatch(string(metrics), -1) {
		n, err := strconv.Atoi(found[2])
		if err != nil {
			return nil, err
		}
		counts[found[1]] += n
	}
	return counts, nil
}

// awaitSync waits until the count of a resource has increased by more since before.
func (s *stage) awaitSync(resource string, more int, before map[string]int) error {
	tick := time.NewTicker(100 * time.Millisecond) // each request makes the server compute all its metrics
	defer tick.Stop()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-tick.C {
		if now, err := s.syncs(); err != nil || now[resource] >= before[resource]+more {
			return err
		}
	}
	return fmt.Errorf("%d watches of %s do not sync", more, resource)
}
