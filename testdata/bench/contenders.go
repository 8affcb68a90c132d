package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"dwatch/testdata/testenv"
)

// The names of the contenders. The others are compared with the last two.
const (
	dwatchName     = "dwatch"
	dwatchOldName  = "dwatch --old"
	dwatchListName = "dwatch list"
	changesName    = "dwatch --changes"
	viewName       = "dwatch -o changes"
	whereName      = "dwatch --where"
	pageName       = "dwatch serve"
	kubectlName    = "kubectl"
	curlName       = "curl"

	// In another format each is compared with the kubectl that prints the same.
	tableName           = "dwatch -o table"
	jsonPathName        = "dwatch -o jsonpath"
	kubectlTableName    = "kubectl table"
	kubectlJSONPathName = "kubectl jsonpath"
)

// compared are those that are compared with kubectl, in the order of the tables, each with
// the kubectl that prints the same.
var compared = []struct{ name, kubectl string }{
	{dwatchName, kubectlName}, {dwatchOldName, kubectlName}, {changesName, kubectlName}, {viewName, kubectlName},
	{whereName, kubectlName}, {pageName, kubectlName}, {dwatchListName, kubectlName},
	{tableName, kubectlTableName}, {jsonPathName, kubectlJSONPathName},
}

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
	page  bool     // it prints nothing: its page is read instead
	language
}

// field is all contenders, in the order of the table, with what they share.
type field struct {
	contenders []contender
	env        []string // of every child
	versions   []version
}

// newField prepares the contenders for a cluster. dir is for their files, and is
// their home: nothing that the user has set up has a part in it.
func newField(cluster *testenv.Cluster, opts options, dir string) (*field, error) {
	curl, err := curlTo(cluster, dir)
	if err != nil {
		return nil, err
	}
	kubectl, pods := opts.kubectl, "/api/v1/pods"
	f := &field{env: append(os.Environ(), "KUBECONFIG="+cluster.Kubeconfig, "HOME="+dir, "KUBECACHEDIR=")}
	if f.versions, err = versionsOf(opts); err != nil {
		return nil, err
	}
	for _, v := range f.versions {
		f.addDwatch(v)
	}
	// Without --chunk-size=0 kubectl prints each 500 of the initial objects as one
	// event, of a list. Time, CPU and memory are much the same.
	f.add(kubectlName, contender{
		watch: []string{kubectl, "get", "pods", "-A", "--watch", "--output-watch-events", "-o", "json", "--chunk-size=0"},
		start: append([]string{kubectl, "get", "-o", "json"}, one...),
	})
	f.add(kubectlTableName, contender{
		watch:    []string{kubectl, "get", "pods", "-A", "--watch"},
		start:    append([]string{kubectl, "get"}, one...),
		language: tableLines,
	})
	f.add(kubectlJSONPathName, contender{
		watch:    []string{kubectl, "get", "pods", "-A", "--watch", "--chunk-size=0", "-o", written},
		start:    append([]string{kubectl, "get", "-o", `jsonpath={.items[*].metadata.name}{"\n"}`}, one...),
		language: writtenLines,
	})
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

func (f *field) add(name string, c contender) {
	c.name = name
	if c.isEvent == nil {
		c.language = jsonLines
	}
	f.contenders = append(f.contenders, c)
}

// one is the lonely object, as a program is asked for it.
var one = []string{"configmaps", "--namespace", lonely}

// addDwatch adds what is measured of one dwatch.
func (f *field) addDwatch(d version) {
	stream := func(name string, of language, flags ...string) {
		f.add(d.named(name), contender{
			watch:    d.stream(slices.Concat([]string{"pods", "-A"}, flags)...),
			start:    d.stream(slices.Concat(one, flags)...),
			language: of,
		})
	}
	stream(dwatchName, jsonLines)
	stream(dwatchOldName, jsonLines, "--old")
	stream(changesName, jsonLines, "--changes")
	stream(viewName, changeLines, "-o", "changes")
	stream(whereName, jsonLines, "--where", passesAll)
	f.add(d.named(pageName), contender{watch: d.serve("pods", "-A"), start: d.serve(one...), page: true, language: pageLines})
	f.add(d.named(dwatchListName), contender{list: d.list("pods", "-A"), start: d.list(one...)})
	stream(tableName, tableLines, "-o", "table")
	stream(jsonPathName, writtenLines, "-o", written)
}

// curlTo returns what makes curl's command line for a watch of path. It writes
// the token and the certificate into dir, so that curl reads them from files.
func curlTo(cluster *testenv.Cluster, dir string) (func(path string) []string, error) {
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
