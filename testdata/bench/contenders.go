package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"dwatch/testdata/testenv"
)

// Names of the contenders.
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

	// Other output formats are compared with the same format of kubectl.
	tableName           = "dwatch -o table"
	jsonPathName        = "dwatch -o jsonpath"
	kubectlTableName    = "kubectl table"
	kubectlJSONPathName = "kubectl jsonpath"
)

// comparisons are the contenders that are compared with kubectl, in the order of the tables, and the kubectl with the
// same output.
var comparisons = []struct{ name, kubectl string }{
	{dwatchName, kubectlName}, {dwatchOldName, kubectlName}, {changesName, kubectlName}, {viewName, kubectlName},
	{whereName, kubectlName}, {pageName, kubectlName}, {dwatchListName, kubectlName},
	{tableName, kubectlTableName}, {jsonPathName, kubectlJSONPathName},
}

// writtenTemplate prints the time at which a pod was updated.
const writtenTemplate = `jsonpath={.metadata.namespace} {.metadata.name} {.metadata.annotations.dwatch\.test/written-at}{"\n"}`

// passesAll is a condition that reads two fields and matches every object, so the output is the same as without it.
const passesAll = "object.?status.?phase.orValue('') != 'Nope' && object.metadata.namespace != 'x'"

// watchQuery is the query of dwatch's watch requests. The stream begins with the existing objects.
const watchQuery = "?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"

// contender is a program to measure, with its command line for each job.
type contender struct {
	name  string   // in the table
	watch []string // watches all pods and prints one line per event; nil if list is set
	list  []string // prints all pods and exits
	start []string // prints the lonely object
	page  bool     // prints nothing and serves a page, whose messages are read
	lineFormat
}

// contenderSet contains all contenders in the order of the tables, and their common environment.
type contenderSet struct {
	contenders []contender
	env        []string // environment of all children
	versions   []version
}

// newContenderSet prepares the contenders for a cluster. dir is for their files and their home directory, so that the
// user's configuration has no effect.
func newContenderSet(cluster *testenv.Cluster, opts options, dir string) (*contenderSet, error) {
	curl, err := curlTo(cluster, dir)
	if err != nil {
		return nil, err
	}
	kubectl, pods := opts.kubectl, "/api/v1/pods"
	f := &contenderSet{env: append(os.Environ(), "KUBECONFIG="+cluster.Kubeconfig, "HOME="+dir, "KUBECACHEDIR=")}
	if f.versions, err = versionsOf(opts); err != nil {
		return nil, err
	}
	for _, v := range f.versions {
		f.addDwatch(v)
	}
	// Without --chunk-size=0, kubectl prints each 500 initial objects as one event of a list. Time, CPU and memory are
	// about the same.
	f.add(kubectlName, contender{
		watch: []string{kubectl, "get", "pods", "-A", "--watch", "--output-watch-events", "-o", "json", "--chunk-size=0"},
		start: append([]string{kubectl, "get", "-o", "json"}, lonelyArgs...),
	})
	f.add(kubectlTableName, contender{
		watch:      []string{kubectl, "get", "pods", "-A", "--watch"},
		start:      append([]string{kubectl, "get"}, lonelyArgs...),
		lineFormat: tableLines,
	})
	f.add(kubectlJSONPathName, contender{
		watch:      []string{kubectl, "get", "pods", "-A", "--watch", "--chunk-size=0", "-o", writtenTemplate},
		start:      append([]string{kubectl, "get", "-o", `jsonpath={.items[*].metadata.name}{"\n"}`}, lonelyArgs...),
		lineFormat: writtenLines,
	})
	f.add(curlName, contender{
		watch: curl(pods),
		start: curl("/api/v1/namespaces/" + lonely + "/configmaps"),
	})
	f.contenders = slices.DeleteFunc(f.contenders, func(c contender) bool { return opts.leavesOut(c.name) })
	return f, nil
}

// leavesOut reports whether a contender is left out. curl is always included, because it makes the server read all
// pods during the warm-up.
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

func (f *contenderSet) add(name string, c contender) {
	c.name = name
	if c.isEvent == nil {
		c.lineFormat = jsonLines
	}
	f.contenders = append(f.contenders, c)
}

// lonelyArgs are the arguments for the lonely object.
var lonelyArgs = []string{"configmaps", "--namespace", lonely}

// addDwatch adds the contenders of one version of dwatch.
func (f *contenderSet) addDwatch(d version) {
	stream := func(name string, of lineFormat, flags ...string) {
		f.add(d.named(name), contender{
			watch:      d.stream(slices.Concat([]string{"pods", "-A"}, flags)...),
			start:      d.stream(slices.Concat(lonelyArgs, flags)...),
			lineFormat: of,
		})
	}
	stream(dwatchName, jsonLines)
	stream(dwatchOldName, jsonLines, "--old")
	stream(changesName, jsonLines, "--changes")
	stream(viewName, changeLines, "-o", "changes")
	stream(whereName, jsonLines, "--where", passesAll)
	f.add(d.named(pageName), contender{watch: d.serve("pods", "-A"), start: d.serve(lonelyArgs...), page: true, lineFormat: pageLines})
	f.add(d.named(dwatchListName), contender{list: d.list("pods", "-A"), start: d.list(lonelyArgs...)})
	stream(tableName, tableLines, "-o", "table")
	stream(jsonPathName, writtenLines, "-o", writtenTemplate)
}

// curlTo returns a function that builds the curl command line to watch a path. It writes the token and the
// certificate to files in dir, which curl reads.
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
