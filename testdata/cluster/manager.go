package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/controller-manager/pkg/informerfactory"
)

// manager is what the controllers share. It stands in for the program
// kube-controller-manager, which takes 280 packages more to build: other controllers,
// their options, volume plugins, and the kubelet's and the scheduler's code.
type manager struct {
	endpoint  *endpoint
	informers informers.SharedInformerFactory
	all       informerfactory.InformerFactory // of any resource, for the garbage collector
	mapper    *restmapper.DeferredDiscoveryRESTMapper
	started   chan struct{} // closed once the informers of all controllers are started
}

// startControllers starts the controllers and the stand-in for the kubelets.
// Starting up is bound to ctx; once started, they work until running ends.
func startControllers(ctx, running context.Context, endpoint *endpoint) error {
	m := newManager(endpoint)
	var ready []runController
	for name, start := range controllers {
		run, err := start(running, m, name)
		if err != nil {
			return fmt.Errorf("cannot start %s: %w", name, err)
		}
		ready = append(ready, run)
	}
	m.informers.Start(running.Done())
	m.all.Start(running.Done())
	close(m.started)
	for _, run := range ready {
		go run(running)
	}
	go wait.UntilWithContext(running, func(context.Context) { m.mapper.Reset() }, 30*time.Second) // new kinds
	return startKubelets(ctx, running, endpoint)
}

func newManager(endpoint *endpoint) *manager {
	m := &manager{endpoint: endpoint, started: make(chan struct{})}
	// Never all at once, as of kube-controller-manager: between 12 and 24 hours.
	resync := func() time.Duration { return time.Duration((1 + rand.Float64()) * float64(12*time.Hour)) }
	m.informers = informers.NewSharedInformerFactoryWithOptions(m.client("shared-informers"), resync(),
		informers.WithTransform(withoutManagedFields))
	m.all = informerfactory.NewInformerFactory(m.informers, metadatainformer.NewSharedInformerFactoryWithOptions(
		metadata.NewForConfigOrDie(m.config("metadata-informers")), resync(), metadatainformer.WithTransform(withoutManagedFields)))
	m.mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(m.client("controller-discovery").Discovery()))
	return m
}

// config returns the configuration of a client: its name is part of its user agent, which
// begins with the name of the program as for each client of kube-controller-manager.
func (m *manager) config(name string) *rest.Config {
	config := rest.AddUserAgent(m.endpoint.restConfig(userControllers, ""), name)
	config.QPS, config.Burst = 500, 1000
	config.ContentType = "application/vnd.kubernetes.protobuf"
	return config
}

// client returns a client. Nothing that happens, only a mistake in config, makes it panic.
func (m *manager) client(name string) kubernetes.Interface {
	return kubernetes.NewForConfigOrDie(m.config(name))
}

// withoutManagedFields makes objects smaller to keep.
func withoutManagedFields(obj any) (any, error) {
	if object, err := meta.Accessor(obj); err == nil && object.GetManagedFields() != nil {
		object.SetManagedFields(nil)
	}
	return obj, nil
}
