package testenv

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const runWithin = 10 * time.Minute

// Main is the body of a TestMain: it starts a cluster with flags, stores it in c, runs the
// tests, stops the cluster and returns the exit code.
func Main(m *testing.M, c **Cluster, flags ...string) int {
	cluster, err := StartCluster(flags...)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		if err := cluster.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}()
	*c = cluster
	return m.Run()
}

// Config returns the client configuration of a context of the kubeconfig, ""
// for the current one, without a limit on requests per second.
func (c *Cluster) Config(context string) (*rest.Config, error) {
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: c.Kubeconfig},
		&clientcmd.ConfigOverrides{CurrentContext: context},
	).ClientConfig()
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	return config, nil
}

// Run runs a subcommand of the program against this cluster, for example
// Run("apply", file), and returns what it wrote to stdout. The error of a run
// that failed holds what it wrote to stderr.
func (c *Cluster) Run(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), runWithin)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.binary, append(args, "--kubeconfig", c.Kubeconfig)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("cluster %s: %w\n%s", strings.Join(args, " "), err, &stderr)
	}
	return stdout.String(), nil
}
