package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"dwatch/testdata/testenv"
)

// batch is how many pods are made at a time, in a namespace of their own: so no
// single step takes too long, and there is progress to see.
const batch = 10000

// heavy is the namespace of the first batch, which is updated at full speed.
const heavy = "bench-01"

// light is the namespace of the small pods, which are what is updated to measure
// latency: the server writes one of 9 KB in 3 ms of CPU, beside which a watcher's
// part would not be seen.
const light = "bench-light"

// lightPods returns how many of the pods are small.
func lightPods(pods int) int { return min(max(pods/10, 1), 100) }

// lonely is the namespace with one object, which start-up is measured on.
const lonely = "bench-start"

// lonelyObjects are that namespace and its object.
const lonelyObjects = `apiVersion: v1
kind: Namespace
metadata:
  name: ` + lonely + `
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: only
  namespace: ` + lonely + `
data:
  key: value
`

// startCluster starts a cluster that ends with ctx, if it is not stopped before.
func startCluster(ctx context.Context, flags ...string) (*testenv.Cluster, error) {
	say("starting the cluster")
	cluster, err := testenv.StartCluster(flags...)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { cluster.Stop() }) // what runs against it then fails at once
	return cluster, nil
}

// fill makes the pods and the lonely object. dir is for temporary files.
func fill(cluster *testenv.Cluster, pods int, dir string) error {
	manifest := filepath.Join(dir, "lonely.yaml")
	if err := os.WriteFile(manifest, []byte(lonelyObjects), 0o600); err != nil {
		return err
	}
	if _, err := cluster.Run("apply", manifest); err != nil {
		return err
	}
	small := lightPods(pods)
	if _, err := cluster.Run("pods", strconv.Itoa(small), "--light", "--namespace", light); err != nil {
		return err
	}
	for i, made := 1, small; made < pods; i++ {
		count := min(batch, pods-made)
		say("making pods: %d of %d", made, pods)
		if _, err := cluster.Run("pods", strconv.Itoa(count), "--namespace", fmt.Sprintf("bench-%02d", i)); err != nil {
			return err
		}
		made += count
	}
	return nil
}

// churn starts to write updates to the pods of a namespace, rate a second or,
// with 0, as fast as the server takes them. The caller must receive the result.
func churn(cluster *testenv.Cluster, namespace string, updates int, rate float64) <-chan error {
	done := make(chan error, 1)
	go func() {
		_, err := cluster.Run("churn", strconv.Itoa(updates), "--namespace", namespace, "--rate", strconv.FormatFloat(rate, 'f', -1, 64))
		done <- err
	}()
	return done
}
