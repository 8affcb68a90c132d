package main

import (
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// serverModule is the module of kube-apiserver and kubectl. If they were built as dependencies, their version
// commands do not report its version.
const serverModule = "k8s.io/kubernetes"

// describe returns a paragraph with the machine, the programs and the parameters.
func describe(o options) (string, error) {
	dwatch, err := buildinfo.ReadFile(o.dwatch)
	if err != nil {
		return "", fmt.Errorf("no dwatch to measure, run make build: %w", err)
	}
	kubectl, err := describeKubectl(o)
	if err != nil {
		return "", err
	}
	server, err := buildinfo.ReadFile(clusterPath())
	if err != nil {
		return "", fmt.Errorf("no cluster to measure on, run make bin/cluster: %w", err)
	}
	curl, err := exec.Command("curl", "--version").Output()
	if err != nil {
		return "", fmt.Errorf("no curl to compare with: %w", err)
	}
	size, err := os.Stat(o.dwatch)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf(`%d cores, %s/%s; dwatch built with %s, %s; %s, kube-apiserver %s, %s.
%s pods; %s updates at full speed, %s at %g a second; %d starts a round; medians of %d round(s).`,
		runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, dwatch.GoVersion, megabytes(float64(size.Size())),
		kubectl, versionOf(server, serverModule), firstWords(string(curl), 2),
		thousands(o.pods), thousands(o.updates), thousands(o.paced), o.rate, o.starts, o.rounds), nil
}

// describeKubectl returns the version of kubectl, or "no kubectl" if it is left out.
func describeKubectl(o options) (string, error) {
	if o.without == kubectlName {
		return "no kubectl", nil
	}
	info, err := buildinfo.ReadFile(o.kubectl)
	if err != nil {
		return "", fmt.Errorf("no kubectl to compare with, run make bin/kubectl, or leave it out with -without kubectl: %w", err)
	}
	return "kubectl " + versionOf(info, serverModule), nil
}

// clusterPath returns the path of the binary that testenv starts.
func clusterPath() string {
	if path := os.Getenv("DWATCH_CLUSTER"); path != "" {
		return path
	}
	return "bin/cluster"
}

// versionOf returns the version of a module in a binary.
func versionOf(info *buildinfo.BuildInfo, module string) string {
	if info.Main.Path == module {
		return info.Main.Version
	}
	for _, dep := range info.Deps {
		if dep.Path == module {
			return dep.Version
		}
	}
	return "of unknown version"
}

// firstWords returns the first n words of s.
func firstWords(s string, n int) string {
	words := strings.Fields(s)
	return strings.Join(words[:min(n, len(words))], " ")
}

// notes returns the text that explains the tables of watches.
func notes() string {
	return strings.ReplaceAll(`dwatch is ~dwatch pods -A~, and kubectl is ~kubectl get pods -A --watch --output-watch-events -o json~ with
~--chunk-size=0~ (otherwise it prints each 500 initial pods as one event). curl is a watch of the same pods that begins with the
existing pods. kubectl table is ~kubectl get pods -A --watch~. kubectl jsonpath prints three values with ~--chunk-size=0~.
--where has a condition on two fields that matches all pods. For dwatch serve, the messages to one of ten viewers of its page are
measured. The other nine connect when all pods have been sent. The programs run one at a time, with stdout connected to a pipe.
Ratios are ratios of medians, compared with the kubectl that prints the same format. Below 1, dwatch needs less. Times count from
the start of the process. "first out" of dwatch list is its first byte. 1 MB is 10^6 bytes, and memory is resident memory. Latency
is the time from just before the update request until its line is read. These updates set two annotations of one of a hundred
pods of less than 2 KB. Tables do not show the time of an update, so they have no latency. Updates at full speed change pods of
9 KB, as fast as the server can write them while the reader runs. The start on one object is measured with
~kubectl get configmaps~ for kubectl, with a filled discovery cache.
`, "~", "`")
}

// deliveryNotes returns the text that explains the table of deliveries.
func deliveryNotes() string {
	return fmt.Sprintf(strings.ReplaceAll(`~dwatch send pods --to http://127.0.0.1:PORT --workers %d~ delivers %s events of 5 KB. All of them are in
its queue when the receiver begins to answer. The bare Go client posts the same bodies from %[1]d goroutines to the same receiver,
with net/http. ~dwatch send pods --to nats://127.0.0.1:PORT/PREFIX --workers %[4]d~ delivers the same events to a stream on
disk. All of them are in its queue when the server starts. bare nats.go publishes the same bodies with IDs and the same number of
unacknowledged messages. Both rates are from the times at which the server stored the first and the last message.
~dwatch send pods -- true~ runs a program for each of %[3]s events, or all if there are fewer. Its rate is from start to end. The
shell does the same for the same lines. The contenders take turns. Ratios in this table are medians of the ratios of single turns.
With ~--state~, the queue is in a file.
`, "~", "`"), webhookWorkers, thousands(webhookEvents), thousands(commandEvents), publishWorkers)
}
