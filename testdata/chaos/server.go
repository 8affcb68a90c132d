package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"dwatch/testdata/testenv"
)

// server is an API server that can be killed and restarted with its data.
type server struct {
	data  string
	flags []string

	// replaced reports that the custom resource was deleted and created again, which deleted the objects of its writers.
	replaced atomic.Bool
	kills    atomic.Int64

	mu      sync.Mutex
	cluster *testenv.Cluster
	config  *rest.Config
}

// startServer starts a server with the custom resource that the writers need.
func startServer(flags ...string) (*server, error) {
	data, err := os.MkdirTemp("", "dwatch-chaos-data-")
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(data))
	}
	s := &server{data: data, flags: append([]string{"--data", data, "--port", fmt.Sprint(port)}, flags...)}
	if err := errors.Join(s.start(), s.prepare()); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

func (s *server) start() error {
	cluster, err := testenv.StartCluster(s.flags...)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cluster = cluster
	s.config, err = cluster.Config("admin")
	return err
}

// prepare creates the custom resource.
func (s *server) prepare() error {
	if s.cluster == nil {
		return nil
	}
	path := filepath.Join(s.data, "crd.yaml")
	if err := os.WriteFile(path, []byte(thingsCRD), 0o600); err != nil {
		return err
	}
	_, err := s.cluster.Run("apply", path)
	return err
}

// crash kills the server with SIGKILL, and restarts it after a time or when ctx ends, with the same data and port.
func (s *server) crash(ctx context.Context, after time.Duration) error {
	s.kills.Add(1)
	s.cluster.Kill()
	sleep(ctx, after)
	return s.start()
}

// freeze stops the server from answering for a time or until ctx ends. Its connections stay open.
func (s *server) freeze(ctx context.Context, lasts time.Duration) error {
	if err := s.cluster.Freeze(); err != nil {
		return err
	}
	sleep(ctx, lasts)
	return s.cluster.Thaw()
}

// replaceCRD deletes the custom resource with all its objects, and creates it again after a time or when ctx ends.
func (s *server) replaceCRD(ctx context.Context, after time.Duration) error {
	ends := ctx
	ctx = context.WithoutCancel(ctx) // it is created again in any case
	client, err := dynamic.NewForConfig(s.config)
	if err != nil {
		return err
	}
	crds := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	const name = "things.chaos.dwatch.test"
	s.replaced.Store(true)
	if err := crds.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		return err
	}
	for !apierrors.IsNotFound(err) && sleep(ctx, 50*time.Millisecond) {
		_, err = crds.Get(ctx, name, metav1.GetOptions{})
	}
	sleep(ends, after)
	return s.prepare()
}

func (s *server) stop() error {
	defer os.RemoveAll(s.data)
	if s.cluster == nil {
		return nil
	}
	return s.cluster.Stop()
}

func freePort() (int, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// thingsCRD is a resource whose objects look like ConfigMaps.
const thingsCRD = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: things.chaos.dwatch.test
spec:
  group: chaos.dwatch.test
  scope: Namespaced
  names: {plural: things, singular: thing, kind: Thing}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        x-kubernetes-preserve-unknown-fields: true
`
