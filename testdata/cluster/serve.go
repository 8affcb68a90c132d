package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/spf13/pflag"
)

// Limits that keep a test from hanging. A stop is bounded because an API
// server waits up to a minute for open watches to end, and a test bed need not.
const (
	startTimeout         = 60 * time.Second
	stopAPIServerTimeout = time.Second
	stopEtcdTimeout      = 2 * time.Second
)

// serveOptions is the command line of the server.
type serveOptions struct {
	kubeconfig       string
	dataDir          string
	logFile          string
	port             int
	controllers      bool
	lightPods        int
	stopOnStdinClose bool
	apiserverArgs    []string
}

// serveCommand runs a cluster until ctx ends, then takes it down.
func serveCommand(ctx context.Context, args []string, stdout io.Writer) error {
	opts, err := parseServeOptions(args, stdout)
	if err != nil {
		return err
	}
	server, err := newAPIServer(opts.apiserverArgs)
	if err != nil {
		return err
	}
	if opts.stopOnStdinClose {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		go func() {
			io.Copy(io.Discard, os.Stdin)
			cancel()
		}()
	}
	return serve(ctx, opts, server, stdout)
}

// parseServeOptions reads the command line of the server.
func parseServeOptions(args []string, stdout io.Writer) (serveOptions, error) {
	var opts serveOptions
	flags := pflag.NewFlagSet("cluster", pflag.ContinueOnError)
	flags.StringVar(&opts.kubeconfig, "kubeconfig", "", "write the kubeconfig to `PATH` once the cluster is ready (required)")
	flags.StringVar(&opts.dataDir, "data", "", "keep all data in `DIR`, and continue with existing data\n(default a temporary directory, removed at the end)")
	flags.IntVar(&opts.port, "port", 0, "`PORT` of the API server (default a free one)")
	flags.BoolVar(&opts.controllers, "controllers", false, "also run controllers and a simulation of the kubelets, so that workloads roll out")
	flags.IntVar(&opts.lightPods, "light-pods", 0, "begin with `N` pods in the namespace default, as \"cluster pods N --light\" makes them, at once")
	flags.StringArrayVar(&opts.apiserverArgs, "apiserver-arg", nil, "set a kube-apiserver flag, `KEY=VALUE`, such as watch-cache=false (repeatable)")
	flags.StringVar(&opts.logFile, "log", "", "append the logs of the components to `FILE` (default cluster.log among the data)")
	flags.BoolVar(&opts.stopOnStdinClose, "stop-on-stdin-close", false, "stop when standard input ends, so that the cluster never outlives its parent")
	if err := parseFlags(flags, usage, args, stdout); err != nil {
		return opts, err
	}
	switch {
	case flags.NArg() > 0:
		return opts, badUsage("unknown command %q", flags.Arg(0))
	case opts.kubeconfig == "":
		return opts, badUsage("--kubeconfig PATH is required")
	case opts.lightPods < 0:
		return opts, badUsage("--light-pods must not be negative")
	case opts.port < 0 || opts.port > 65535:
		return opts, badUsage("--port %d is not a port", opts.port)
	}
	return opts, nil
}

// serve starts all components, announces them on stdout, and stops them when
// ctx ends or one of them fails. Nothing is left behind but a kept data
// directory and the kubeconfig.
func serve(ctx context.Context, opts serveOptions, server *apiServer, stdout io.Writer) error {
	if opts.controllers {
		// Kubernetes clients use the program name in their user agent and as their field manager, and most clients of a
		// cluster with controllers are controllers.
		os.Args[0] = "kube-controller-manager"
	}
	data, err := openDataDir(opts.dataDir)
	if err != nil {
		return err
	}
	defer data.close()
	if err := redirectLogs(opts.logFile, data); err != nil {
		return err
	}
	listener, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", opts.port))
	if err != nil {
		return fmt.Errorf("cannot open the API server's port: %w", err)
	}
	users, err := loadUsers(data)
	if err != nil {
		return err
	}
	certificate, err := loadCertificate(data)
	if err != nil {
		return err
	}
	etcd, err := startEtcd(ctx, data.path("etcd"))
	if err != nil {
		return unlessDone(ctx, err)
	}
	defer etcd.stop()
	if err := errors.Join(writePolicy(ctx, etcd), writeLightPods(ctx, etcd, opts.lightPods)); err != nil {
		return unlessDone(ctx, err)
	}

	// Cancelled by its own defer, not by ctx: the API server stops first.
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	if err := server.start(running, listener, etcd.endpoint(), users, data); err != nil {
		stop()
		return err
	}
	defer server.wait(stopAPIServerTimeout)
	defer stop()
	defer stopping.Store(true)
	if err := announce(ctx, running, opts, server, server.reach(users, certificate), stdout); err != nil {
		return unlessDone(ctx, err)
	}
	return waitForEnd(ctx, server, etcd)
}

// unlessDone returns err, or nil when ctx ended: a start that fails because
// the user stops it is no failure.
func unlessDone(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// announce makes a freshly started API server usable: it waits until it is
// ready, sets up the controllers, and only then writes the kubeconfig and the
// line on stdout.
func announce(ctx, running context.Context, opts serveOptions, server *apiServer, endpoint *endpoint, stdout io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := server.waitReady(ctx, endpoint); err != nil {
		return err
	}
	if opts.controllers {
		if err := startControllers(ctx, running, endpoint); err != nil {
			return err
		}
	}
	if err := writeKubeconfig(opts.kubeconfig, userKubeconfig(endpoint)); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "export KUBECONFIG=%s\n", opts.kubeconfig)
	return nil
}

// waitForEnd returns nil when ctx ends, and an error when a component does.
func waitForEnd(ctx context.Context, server *apiServer, etcd *etcdServer) error {
	select {
	case <-ctx.Done():
		return nil
	case <-server.done:
		return fmt.Errorf("the API server stopped: %w", server.failure())
	case err := <-etcd.Err():
		return fmt.Errorf("etcd stopped: %w", err)
	}
}
