package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"dwatch/testdata/bed"
)

// The names of the contenders. The others are compared with the last two.
const (
	dwatchName     = "dwatch"
	dwatchOldName  = "dwatch --old"
	dwatchListName = "dwatch --list"
	kubectlName    = "kubectl"
	curlName       = "curl"
)

// watchQuery asks the server for what dwatch asks it for: a stream that begins
// with what is there.
const watchQuery = "?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"

// contender is a program to measure, with its arguments for each job.
type contender struct {
	name  string   // in the table
	watch []string // follows all pods, one event a line; or
	list  []string // prints all pods and ends
	start []string // prints the lonely object
}

// field is all contenders, in the order of the table, with what they share.
type field struct {
	contenders []contender
	env        []string // of every child
}

// newField prepares the contenders for a cluster. dir is for their files, and is
// their home: nothing that the user has set up has a part in it.
func newField(cluster *bed.Cluster, opts options, dir string) (*field, error) {
	curl, err := curlTo(cluster, dir)
	if err != nil {
		return nil, err
	}
	dwatch, kubectl, pods := opts.dwatch, opts.kubectl, "/api/v1/pods"
	one := []string{"configmaps", "--namespace", lonely}
	f := &field{env: append(os.Environ(), "KUBECONFIG="+cluster.Kubeconfig, "HOME="+dir, "KUBECACHEDIR=")}
	f.add(dwatchName, contender{
		watch: []string{dwatch, "pods", "-A"},
		start: append([]string{dwatch}, one...),
	})
	if hasOld, err := knowsOld(dwatch); err != nil {
		return nil, err
	} else if hasOld {
		f.add(dwatchOldName, contender{
			watch: []string{dwatch, "pods", "-A", "--old"},
			start: append([]string{dwatch, "--old"}, one...),
		})
	}
	f.add(dwatchListName, contender{
		list:  []string{dwatch, "pods", "-A", "--list"},
		start: append([]string{dwatch, "--list"}, one...),
	})
	// Without --chunk-size=0 kubectl prints each 500 of the initial objects as one
	// event, of a list. Time, CPU and memory are much the same.
	f.add(kubectlName, contender{
		watch: []string{kubectl, "get", "pods", "-A", "--watch", "--output-watch-events", "-o", "json", "--chunk-size=0"},
		start: append([]string{kubectl, "get", "-o", "json"}, one...),
	})
	f.add(curlName, contender{
		watch: curl(pods),
		start: curl("/api/v1/namespaces/" + lonely + "/configmaps"),
	})
	f.contenders = slices.DeleteFunc(f.contenders, func(c contender) bool { return c.name == opts.without })
	return f, nil
}

func (f *field) add(name string, c contender) {
	c.name = name
	f.contenders = append(f.contenders, c)
}

// knowsOld tells whether this dwatch has the flag --old.
func knowsOld(dwatch string) (bool, error) {
	help, err := exec.Command(dwatch, "--help").CombinedOutput()
	if err != nil {
		return false, fmt.Errorf("%s --help: %w\n%s", dwatch, err, help)
	}
	return bytes.Contains(help, []byte("--old")), nil
}

// curlTo returns what makes curl's command line for a watch of path. It writes
// the token and the certificate into dir, so that curl reads them from files.
func curlTo(cluster *bed.Cluster, dir string) (func(path string) []string, error) {
	config, err := cluster.Config("")
	if err != nil {
		return nil, err
	}
	header, ca := filepath.Join(dir, "header"), filepath.Join(dir, "ca.crt")
	if err := os.WriteFile(header, []byte("Authorization: Bearer "+config.BearerToken+"\n"), 0o600); err != nil {
		return nil, err
	}
	if err := os.WriteFile(ca, config.CAData, 0o600); err != nil {
		return nil, err
	}
	return func(path string) []string {
		return []string{"curl", "--no-buffer", "--silent", "--show-error", "--fail", "--noproxy", "*",
			"--header", "@" + header, "--cacert", ca, config.Host + path + watchQuery}
	}, nil
}
