package main

import (
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// serverModule is the module of kube-apiserver and kubectl: its version is
// theirs, whatever they say themselves when they were built as modules.
const serverModule = "k8s.io/kubernetes"

// describe returns what is measured on what machine, in a paragraph.
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

// describeKubectl returns what kubectl is measured.
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

// clusterPath returns the path of the binary that bed starts.
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

// notes returns what the reader of the tables has to know.
func notes() string {
	return strings.ReplaceAll(`dwatch is ~dwatch pods -A~, kubectl is ~kubectl get pods -A --watch --output-watch-events -o json~ with
~--chunk-size=0~ (else it prints each 500 of the initial pods as one event), curl is a watch of the same
pods that begins with what is there. kubectl table is ~kubectl get pods -A --watch~, and kubectl jsonpath, with
~--chunk-size=0~, a jsonpath of three values. --where has a condition on two fields, which holds for all of them.
Of dwatch serve it is what a viewer of its page gets, with nine others, who come when all pods are out. One
program runs at a time, its stdout into a pipe. Ratios are of medians, and to the kubectl that prints the same:
below 1, dwatch has less. Times count from the start of the process; "first out" of dwatch list is its first
byte. MB are 10^6 bytes, and memory is what is resident. Latency is from just before an update is sent to the
server until its line is read; the update sets two annotations of a pod of less than 2 KB, of which there are a
hundred among the others; no row of a table says when a pod was updated. Updates at full speed set those of pods
of 9 KB, and come as fast as the server writes them beside the reader. At the start on one object kubectl is
~kubectl get configmaps~, with its cache of discovery filled.
`, "~", "`")
}

// deliveryNotes returns what the reader of the table of deliveries has to know.
func deliveryNotes() string {
	return fmt.Sprintf(strings.ReplaceAll(`~dwatch send pods --to http://127.0.0.1:PORT --workers %d~ delivers %s events of 5 KB, all of which wait in its queue
when the receiver begins to answer; the bare Go client posts the same bodies from %[1]d goroutines to the same
receiver, with net/http as it is. ~dwatch send pods --to nats://127.0.0.1:PORT/PREFIX --workers %[4]d~ delivers the same events to a
stream in files, all of which wait when the server comes; bare nats.go publishes the same bodies with ids and as many
acknowledgements under way; both by the times at which the server stored the first and the last. ~dwatch send pods -- true~
runs a program for each of %[3]s events, or all there are, from its start to its end; the shell, for the same lines,
does nothing else. These take turns. Ratios of this table are medians of those of single turns.
With ~--state~, what waits is in its file.
`, "~", "`"), posters, thousands(sent), thousands(runs), publishing)
}
