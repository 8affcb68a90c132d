// Command library prints the changes of the ConfigMaps in the namespace of the current context. It is the example of
// docs/tasks/use-as-a-go-library.md.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"dwatch/watcher"
	"dwatch/watcher/event"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := watch(ctx); err != nil {
		log.Fatal(err)
	}
}

func watch(ctx context.Context) error {
	kubeconfig := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(clientcmd.NewDefaultClientConfigLoadingRules(), nil)
	config, err := kubeconfig.ClientConfig()
	if err != nil {
		return err
	}
	namespace, _, err := kubeconfig.Namespace()
	if err != nil {
		return err
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	configMaps := event.NewMapping(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, "ConfigMap", true)
	targets := fixed{{Mapping: configMaps, Namespace: namespace}}
	w, err := watcher.New(watcher.Options{Config: config, HTTP: client, Resolver: targets, Targets: targets})
	if err != nil {
		return err
	}
	return w.Run(ctx, event.SinkFunc(printEvents))
}

// fixed is a watcher.Resolver that always finds the same targets.
type fixed []event.Target

func (f fixed) Resolve(context.Context) (event.Resolution, error) {
	return event.Resolution{Targets: f}, nil
}

func printEvents(_ context.Context, batch []event.Event) error {
	for _, e := range batch {
		if e.Type.IsStatus() {
			fmt.Println(e.Type)
			continue
		}
		object, err := e.Object.Decode()
		if err != nil {
			return err
		}
		data, _, _ := unstructured.NestedStringMap(object.Object, "data")
		fmt.Println(e.Type, e.Object.Name, data)
	}
	return nil
}
