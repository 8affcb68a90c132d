package main

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"sync"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// clientFlags are the flags that all commands on a running cluster share.
type clientFlags struct {
	kubeconfig string
	namespace  string
}

// addTo makes the flags known; namespaceHelp is what --namespace means to the
// command.
func (f *clientFlags) addTo(flags *pflag.FlagSet, namespaceHelp string) {
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig of the cluster, at `PATH` (default $KUBECONFIG)")
	flags.StringVarP(&f.namespace, "namespace", "n", "", namespaceHelp)
}

// connect returns a client configuration without a rate limit. It requires that the cluster is named explicitly and has
// a loopback address, because the commands write a lot and must never reach a cluster in use.
func (f *clientFlags) connect() (*rest.Config, error) {
	path := f.kubeconfig
	if path == "" {
		path = os.Getenv("KUBECONFIG")
	}
	if path == "" {
		return nil, badUsage("which cluster? Set $KUBECONFIG or --kubeconfig")
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the kubeconfig: %w", err)
	}
	server, err := url.Parse(config.Host)
	if err != nil {
		return nil, fmt.Errorf("cannot read the kubeconfig: %w", err)
	}
	if ip := net.ParseIP(server.Hostname()); ip == nil || !ip.IsLoopback() {
		return nil, fmt.Errorf("%s is not a test bed: it is not on loopback", config.Host)
	}
	config.QPS = -1
	config.UserAgent = "cluster"
	return config, nil
}

// workers is how many goroutines work on the same task; more do not speed up a
// server that shares two cores with its clients.
const workers = 32

// inParallel calls do for every number from 0 to n-1, from several goroutines,
// and returns the first error; after an error, or when ctx ends, it starts no
// further calls.
func inParallel(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	next := make(chan int)
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for i := range next {
				if err := do(ctx, i); err != nil {
					fail(err)
				}
			}
		})
	}
	for i := 0; i < n && ctx.Err() == nil; i++ {
		select {
		case next <- i:
		case <-ctx.Done():
		}
	}
	close(next)
	all.Wait()
	return context.Cause(ctx)
}
