package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"dwatch/testdata/testenv"
)

// batch is the number of pods per namespace. Pods are created one namespace at a time, so that no step takes too long
// and progress is visible.
const batch = 10000

// heavy is the namespace of the first batch, whose pods are updated at full speed.
const heavy = "bench-01"

// light is the namespace of the small pods, which are updated to measure latency. An update of a pod of 9 KB takes the
// server 3 ms of CPU, and the latency of a watcher would be negligible in comparison.
const light = "bench-light"

// lightPods returns the number of small pods among the pods.
func lightPods(pods int) int { return min(max(pods/10, 1), 100) }

// lonely is the namespace with a single object, which is used to measure start-up.
const lonely = "bench-start"

// lonelyObjects is the manifest of this namespace and its object.
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

// startCluster starts a cluster. It stops when ctx ends, unless it is stopped before.
func startCluster(ctx context.Context, flags ...string) (*testenv.Cluster, error) {
	progress("starting the cluster")
	cluster, err := testenv.StartCluster(flags...)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { cluster.Stop() }) // so that its clients fail immediately
	return cluster, nil
}

// fill creates the pods and the lonely object. dir is for temporary files.
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
		progress("making pods: %d of %d", made, pods)
		if _, err := cluster.Run("pods", strconv.Itoa(count), "--namespace", fmt.Sprintf("bench-%02d", i)); err != nil {
			return err
		}
		made += count
	}
	return nil
}

// churn starts to update the pods of a namespace, at rate updates per second. A rate of 0 means as fast as the server
// allows. The caller must receive the result.
func churn(cluster *testenv.Cluster, namespace string, updates int, rate float64) <-chan error {
	done := make(chan error, 1)
	go func() {
		_, err := cluster.Run("churn", strconv.Itoa(updates), "--namespace", namespace, "--rate", strconv.FormatFloat(rate, 'f', -1, 64))
		done <- err
	}()
	return done
}
