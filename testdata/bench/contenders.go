package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"dwatch/testdata/bed"
)

// The names of the contenders. The others are compared with the last two.
const (
	dwatchName     = "dwatch"
	dwatchOldName  = "dwatch --old"
	dwatchListName = "dwatch --list"
	changesName    = "dwatch --changes"
	viewName       = "dwatch -o changes"
	whereName      = "dwatch --where"
	pageName       = "dwatch --serve"
	beforeName     = "before"
	kubectlName    = "kubectl"
	curlName       = "curl"

	// In another format each is compared with the kubectl that prints the same.
	tableName           = "dwatch -o table"
	jsonPathName        = "dwatch -o jsonpath"
	kubectlTableName    = "kubectl table"
	kubectlJSONPathName = "kubectl jsonpath"
)

// written is a template that shows when a pod was updated.
const written = `jsonpath={.metadata.namespace} {.metadata.name} {.metadata.annotations.dwatch\.test/written-at}{"\n"}`

// passesAll is a condition that looks at two fields, and holds for every object: so
// that what is printed is what a plain stream prints.
const passesAll = "object.?status.?phase.orValue('') != 'Nope' && object.metadata.namespace != 'x'"

// watchQuery asks the server for what dwatch asks it for: a stream that begins
// with what is there.
const watchQuery = "?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"

// contender is a program to measure, with its arguments for each job.
type contender struct {
	name  string   // in the table
	watch []string // follows all pods, one event a line; or
	list  []string // prints all pods and ends
	start []string // prints the lonely object
	language
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
	kubectl, pods := opts.kubectl, "/api/v1/pods"
	one := []string{"configmaps", "--namespace", lonely}
	f := &field{env: append(os.Environ(), "KUBECONFIG="+cluster.Kubeconfig, "HOME="+dir, "KUBECACHEDIR=")}
	f.addDwatch(opts.dwatch, one, dwatchName, dwatchOldName, dwatchListName)
	f.add(changesName, contender{
		watch: []string{opts.dwatch, "pods", "-A", "--changes"},
		start: append([]string{opts.dwatch, "--changes"}, one...),
	})
	f.add(viewName, contender{
		watch:    []string{opts.dwatch, "pods", "-A", "-o", "changes"},
		start:    append([]string{opts.dwatch, "-o", "changes"}, one...),
		language: changeLines,
	})
	f.add(whereName, contender{
		watch: []string{opts.dwatch, "pods", "-A", "--where", passesAll},
		start: append([]string{opts.dwatch, "--where", passesAll}, one...),
	})
	f.add(pageName, contender{
		watch: []string{opts.dwatch, "pods", "-A", "-o", "json", "--serve"},
		start: append([]string{opts.dwatch, "--serve"}, one...),
	})
	if opts.before != "" {
		f.addDwatch(opts.before, one, beforeName, before(dwatchOldName), before(dwatchListName))
	}
	// Without --chunk-size=0 kubectl prints each 500 of the initial objects as one
	// event, of a list. Time, CPU and memory are much the same.
	f.add(kubectlName, contender{
		watch: []string{kubectl, "get", "pods", "-A", "--watch", "--output-watch-events", "-o", "json", "--chunk-size=0"},
		start: append([]string{kubectl, "get", "-o", "json"}, one...),
	})
	f.addFormats(opts, one)
	f.add(curlName, contender{
		watch: curl(pods),
		start: curl("/api/v1/namespaces/" + lonely + "/configmaps"),
	})
	f.contenders = slices.DeleteFunc(f.contenders, func(c contender) bool { return opts.leavesOut(c.name) })
	return f, nil
}

// leavesOut reports whether a contender does not take part. Curl always does: it makes the
// server read all pods.
func (o options) leavesOut(name string) bool {
	switch {
	case name == curlName:
		return false
	case o.only != "" && !slices.Contains(strings.Split(o.only, ","), name):
		return true
	case o.without == kubectlName:
		return strings.HasPrefix(name, kubectlName)
	}
	return name == o.without
}

// addFormats adds what prints something else than events as JSON, as kubectl prints it when
// nothing else is asked for.
func (f *field) addFormats(opts options, one []string) {
	f.add(tableName, contender{
		watch:    []string{opts.dwatch, "pods", "-A", "-o", "table"},
		start:    append([]string{opts.dwatch, "-o", "table"}, one...),
		language: tableLines,
	})
	f.add(kubectlTableName, contender{
		watch:    []string{opts.kubectl, "get", "pods", "-A", "--watch"},
		start:    append([]string{opts.kubectl, "get"}, one...),
		language: tableLines,
	})
	f.add(jsonPathName, contender{
		watch:    []string{opts.dwatch, "pods", "-A", "-o", written},
		start:    append([]string{opts.dwatch, "-o", "jsonpath={.metadata.name}"}, one...),
		language: writtenLines,
	})
	f.add(kubectlJSONPathName, contender{
		watch:    []string{opts.kubectl, "get", "pods", "-A", "--watch", "--chunk-size=0", "-o", written},
		start:    append([]string{opts.kubectl, "get", "-o", `jsonpath={.items[*].metadata.name}{"\n"}`}, one...),
		language: writtenLines,
	})
}

func (f *field) add(name string, c contender) {
	c.name = name
	if c.isEvent == nil {
		c.language = jsonLines
	}
	f.contenders = append(f.contenders, c)
}

// addDwatch adds what is measured of one dwatch: a stream, one with --old, a list.
func (f *field) addDwatch(path string, one []string, plain, old, list string) {
	f.add(plain, contender{
		watch: []string{path, "pods", "-A"},
		start: append([]string{path}, one...),
	})
	f.add(old, contender{
		watch: []string{path, "pods", "-A", "--old"},
		start: append([]string{path, "--old"}, one...),
	})
	f.add(list, contender{
		list:  []string{path, "pods", "-A", "--list"},
		start: append([]string{path, "--list"}, one...),
	})
}

// before is the contender that one of dwatch's is compared with.
func before(name string) string { return strings.Replace(name, dwatchName, beforeName, 1) }

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
