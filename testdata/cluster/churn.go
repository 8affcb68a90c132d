package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

const churnUsage = `cluster churn writes M updates, one pod after the other, to the pods that
"cluster pods" made. Each sets two annotations: dwatch.test/counter, from 1 to
M, and dwatch.test/written-at, the time just before the write in Unix
nanoseconds. At the end one line tells the number, the seconds and the rate.

Usage:
  cluster churn M [flags]

Flags:
`

// podResource is the resource of pods.
var podResource = corev1.SchemeGroupVersion.WithResource("pods")

// churnOptions is the command line of "cluster churn".
type churnOptions struct {
	clientFlags
	count int
	rate  float64
}

// churnCommand updates pods and reports how long it took.
func churnCommand(ctx context.Context, args []string, stdout io.Writer) error {
	opts, err := parseChurnOptions(args, stdout)
	if err != nil {
		return err
	}
	config, err := opts.connect()
	if err != nil {
		return err
	}
	client, err := fastClient(config)
	if err != nil {
		return err
	}
	pods, err := bulkPods(ctx, config, opts.namespace)
	if err != nil {
		return err
	}
	start := time.Now()
	lanes := min(workers, len(pods))
	err = inParallel(ctx, lanes, func(ctx context.Context, lane int) error {
		for i := lane; i < opts.count; i = nextInLane(i, lanes, len(pods)) {
			if err := opts.waitForTurn(ctx, start, i); err != nil {
				return err
			}
			if err := touchPod(ctx, client, pods[i%len(pods)], i+1); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	printSummary(stdout, "updates", opts.count, time.Since(start))
	return nil
}

// parseChurnOptions reads the command line of "cluster churn".
func parseChurnOptions(args []string, stdout io.Writer) (churnOptions, error) {
	var opts churnOptions
	flags := pflag.NewFlagSet("cluster churn", pflag.ContinueOnError)
	flags.Float64Var(&opts.rate, "rate", 0, "`R` updates per second (0 for full speed)")
	opts.addTo(flags, "only pods in namespace `NS` (default all)")
	if err := parseFlags(flags, churnUsage, args, stdout); err != nil {
		return opts, err
	}
	if opts.rate < 0 {
		return opts, badUsage("--rate must not be negative")
	}
	var err error
	opts.count, err = countArg(flags, "churn M: how many updates?")
	return opts, err
}

// nextInLane returns the update after i in its lane. Update i goes to pod i
// modulo pods, and every pod to one lane alone: so the counter of a pod never
// goes back, however the lanes overtake each other.
func nextInLane(i, lanes, pods int) int {
	pod := i % pods
	if pod+lanes < pods {
		return i + lanes
	}
	return i - pod + pods + pod%lanes
}

// waitForTurn returns when update i is due. Counting from the start, rather
// than from the update before, keeps the rate when single writes are slow.
func (o *churnOptions) waitForTurn(ctx context.Context, start time.Time, i int) error {
	if o.rate == 0 {
		return nil
	}
	due := start.Add(time.Duration(float64(i) / o.rate * float64(time.Second)))
	select {
	case <-time.After(time.Until(due)):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// bulkPods returns the names of all pods that "cluster pods" made.
func bulkPods(ctx context.Context, config *rest.Config, namespace string) ([]types.NamespacedName, error) {
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	resource := client.Resource(podResource).Namespace(namespace)
	list, err := resource.List(ctx, metav1.ListOptions{LabelSelector: bulkLabel, ResourceVersion: "0"})
	if err != nil {
		return nil, fmt.Errorf("cannot list the pods: %w", err)
	}
	if len(list.Items) == 0 {
		return nil, errors.New(`no pods to update: make some with "cluster pods"`)
	}
	names := make([]types.NamespacedName, len(list.Items))
	for i := range list.Items {
		names[i] = types.NamespacedName{Namespace: list.Items[i].Namespace, Name: list.Items[i].Name}
	}
	return names, nil
}

// touchPod writes one recognisable update to a pod.
func touchPod(ctx context.Context, client kubernetes.Interface, pod types.NamespacedName, counter int) error {
	patch := fmt.Sprintf(`{"metadata":{"annotations":{"dwatch.test/counter":"%d","dwatch.test/written-at":"%d"}}}`,
		counter, time.Now().UnixNano())
	err := client.CoreV1().RESTClient().Patch(types.MergePatchType).
		Namespace(pod.Namespace).Resource("pods").Name(pod.Name).
		Param("fieldManager", "cluster-churn").
		Body([]byte(patch)).
		Do(ctx).Error() // the answer, a whole pod, is not worth decoding
	if err != nil {
		return fmt.Errorf("cannot update pod %s: %w", pod, err)
	}
	return nil
}
