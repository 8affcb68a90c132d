package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const podsUsage = `cluster pods creates N running pods of about 9 KB of JSON each: pod-00001 and so
on, with a status written by a second field manager. With --light they are of
less than 2 KB and have no status, so that the server writes them several times as
fast. Pods that exist already stay as they are. They are deleted at once, without
a kubelet.

Usage:
  cluster pods N [flags]

Flags:
`

// podsOptions is the command line of "cluster pods".
type podsOptions struct {
	clientFlags
	count  int
	spread int // over how many namespaces; 0 for the one in clientFlags
	light  bool
}

// podsCommand creates pods and reports how long it took.
func podsCommand(ctx context.Context, args []string, stdout io.Writer) error {
	opts, err := parsePodsOptions(args, stdout)
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
	if err := opts.makeNamespaces(ctx, client); err != nil {
		return err
	}
	start := time.Now()
	err = inParallel(ctx, opts.count, func(ctx context.Context, i int) error {
		if opts.light {
			return createLightPod(ctx, client, lightPod(opts.namespaceOf(i), i+1))
		}
		return createPod(ctx, client, bulkPod(opts.namespaceOf(i), i+1))
	})
	if err != nil {
		return err
	}
	printSummary(stdout, "pods", opts.count, time.Since(start))
	return nil
}

// parsePodsOptions reads the command line of "cluster pods".
func parsePodsOptions(args []string, stdout io.Writer) (podsOptions, error) {
	var opts podsOptions
	flags := pflag.NewFlagSet("cluster pods", pflag.ContinueOnError)
	opts.addTo(flags, "namespace `NS` of the pods, made if needed (default \"default\")")
	flags.IntVar(&opts.spread, "namespaces", 0, "spread the pods over `K` namespaces load-01 and so on instead")
	flags.BoolVar(&opts.light, "light", false, "make them small")
	if err := parseFlags(flags, podsUsage, args, stdout); err != nil {
		return opts, err
	}
	var err error
	if opts.count, err = countArg(flags, "pods N: how many pods?"); err != nil {
		return opts, err
	}
	switch {
	case opts.spread < 0:
		return opts, badUsage("--namespaces must not be negative")
	case opts.spread > 0 && opts.namespace != "":
		return opts, badUsage("--namespace and --namespaces exclude each other")
	case opts.namespace == "":
		opts.namespace = metav1.NamespaceDefault
	}
	return opts, nil
}

// countArg returns the only argument, which must be a positive number.
func countArg(flags *pflag.FlagSet, question string) (int, error) {
	if flags.NArg() != 1 {
		return 0, badUsage("%s", question)
	}
	count, err := strconv.Atoi(flags.Arg(0))
	if err != nil || count < 1 {
		return 0, badUsage("%q is not a positive number", flags.Arg(0))
	}
	return count, nil
}

// fastClient returns a client that speaks protobuf, which costs a fraction of
// JSON on both sides.
func fastClient(config *rest.Config) (kubernetes.Interface, error) {
	config = rest.CopyConfig(config)
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf
	return kubernetes.NewForConfig(config)
}

// namespaceOf returns the namespace of the pod with the given index.
func (o *podsOptions) namespaceOf(i int) string {
	if o.spread == 0 {
		return o.namespace
	}
	return fmt.Sprintf("load-%02d", i%o.spread+1)
}

// makeNamespaces makes sure that the namespaces of all pods exist.
func (o *podsOptions) makeNamespaces(ctx context.Context, client kubernetes.Interface) error {
	for i := range max(o.spread, 1) {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: o.namespaceOf(i)}}
		_, err := client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("cannot make namespace %s: %w", namespace.Name, err)
		}
	}
	return nil
}

// createPod creates a pod and then reports it as running, each under a field
// manager of its own, as in a real cluster.
func createPod(ctx context.Context, client kubernetes.Interface, pod *corev1.Pod) error {
	pods := client.CoreV1().Pods(pod.Namespace)
	created, err := pods.Create(ctx, pod, metav1.CreateOptions{FieldManager: "kube-controller-manager"})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot create pod %s: %w", pod.Name, err)
	}
	created.Status = runningStatus(created)
	if _, err := pods.UpdateStatus(ctx, created, metav1.UpdateOptions{FieldManager: "kubelet"}); err != nil {
		return fmt.Errorf("cannot write the status of pod %s: %w", pod.Name, err)
	}
	return nil
}

// createLightPod creates a pod without any status.
func createLightPod(ctx context.Context, client kubernetes.Interface, pod *corev1.Pod) error {
	_, err := client.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("cannot create pod %s: %w", pod.Name, err)
	}
	return nil
}

// printSummary prints what was done and how fast, as one line.
func printSummary(stdout io.Writer, what string, count int, took time.Duration) {
	fmt.Fprintf(stdout, "%s=%d seconds=%.2f rate=%.1f\n", what, count, took.Seconds(), float64(count)/took.Seconds())
}
