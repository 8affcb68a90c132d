package cli

import (
	"cmp"
	"fmt"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"dwatch/testdata/testenv"
)

// module is the path of the module. make home changes it.
var module = path.Dir(reflect.TypeFor[importRule]().PkgPath())

// importRule lists the packages of this module that a package may import, and the reason for the limit.
type importRule struct {
	reason  string
	imports []string // "*" allows all packages that except does not name
	except  []string
}

// importRules has a rule for every package. Imports run one way: from packages that decide to packages that serve.
var importRules = map[string]importRule{
	".":                             {reason: "main only starts the program", imports: []string{"cli"}},
	"cli":                           {reason: "it parses command lines and composes runs", imports: []string{"*"}},
	"cli/supervisor":                {reason: "it runs rules and does not parse flags", imports: []string{"*"}, except: []string{"cli", "cli/replay", "output/live", "output/page"}},
	"cli/destination":               {reason: "it consumes events and does not depend on their source", imports: []string{"*"}, except: []string{"cli", "cli/supervisor", "cli/replay", "watcher"}},
	"cli/replay":                    {reason: "it is a source of events and does not depend on their destination", imports: []string{"*"}, except: []string{"cli", "cli/supervisor", "cli/destination", "watcher"}},
	"cli/run":                       {reason: "it composes runs and does not depend on concrete destinations", imports: []string{"*"}, except: []string{"cli", "cli/supervisor", "cli/destination", "cli/replay", "output/live", "output/page", "output/top", "output/changes", "output/deliver"}},
	"output/text":                   {reason: "it escapes and shortens text for people and does not know events"},
	"cli/console":                   {reason: "it is the output of the process for all commands", imports: []string{"cli/cluster", "cli/flags", "cli/report", "output", "output/text", "watcher/event"}},
	"cli/version":                   {reason: "everything may import it, so it imports nothing"},
	"cli/cluster":                   {reason: "it connects to a server, whatever the requests are", imports: []string{"cli/fail"}},
	"cli/access":                    {reason: "it computes permissions and does not report them", imports: []string{"watcher/event", "watcher/object/owner", "cli/fail", "cli/cluster"}},
	"cli/report":                    {reason: "it describes events for people and uses the server only through callbacks", imports: []string{"watcher/event", "cli/access", "cli/fail", "output"}},
	"cli/metrics":                   {reason: "it counts, and serves the state of a run over HTTP", imports: []string{"watcher/event", "output/deliver"}},
	"cli/lookup":                    {reason: "it queries the server for explanations and makes no decisions", imports: []string{"watcher/event", "watcher/object/change", "watcher/object/kubeevent", "watcher/object/owner", "watcher/object/pod", "watcher/object/reason", "watcher/object/refer", "watcher/object/status", "cli/cluster", "mapper", "internal/spelling"}},
	"cli/flags":                     {reason: "it parses flags and does not contact a server", imports: []string{"cli/plan", "mapper", "output", "output/chat", "output/deliver", "output/deliver/jetstream", "output/deliver/kafka", "output/deliver/otlp", "output/deliver/secret", "output/deliver/webhook", "output/top", "watcher/event", "watcher/filter", "watcher/object/change", "watcher/object/expression", "watcher/object/readiness", "watcher/until"}},
	"cli/rules":                     {reason: "it parses the rules file and does not interpret the rules", imports: []string{"internal/spelling"}},
	"cli/manifest":                  {reason: "it renders manifests and does not contact a server"},
	"cli/lease":                     {reason: "it elects a leader and does not know what the leader does"},
	"cli/gc":                        {reason: "it configures the garbage collector before other packages start"},
	"cli/complete":                  {reason: "it completes words for a shell, with names from the server", imports: []string{"watcher/event", "cli/plan", "cli/cluster", "cli/fail", "mapper", "output"}},
	"cli/plan":                      {reason: "it turns names into targets and does not watch them", imports: []string{"watcher/event", "cli/fail", "mapper"}},
	"cli/fail":                      {reason: "it explains errors of lower packages; packages of the same level explain their own", imports: []string{"mapper", "output"}},
	"mapper":                        {reason: "it turns names into resources for any purpose", imports: []string{"watcher/event", "internal/spelling"}},
	"internal/spelling":             {reason: "it compares names of any kind"},
	"output":                        {reason: "it encodes events, whatever their source", imports: []string{"output/text", "watcher/event", "watcher/object/change"}},
	"watcher/object/change":         {reason: "it compares objects and does not know events"},
	"watcher/object/reason":         {reason: "it explains what is wrong with an object and does not contact a server", imports: []string{"watcher/object/kubeevent", "watcher/object/pod"}},
	"watcher/object/readiness":      {reason: "it judges the status of one object and does not contact a server"},
	"watcher/object/status":         {reason: "it computes the state of an object and does not know events", imports: []string{"watcher/object/pod", "watcher/object/readiness", "watcher/object/reason"}},
	"watcher/object/owner":          {reason: "it reads owner references and does not contact a server"},
	"watcher/object/refer":          {reason: "it reads which objects a spec refers to and does not contact a server", imports: []string{"watcher/object/owner"}},
	"watcher/object/pod":            {reason: "it reads the container states of a Pod and does not know events"},
	"watcher/object/kubeevent":      {reason: "it parses Events of Kubernetes, whatever their source", imports: []string{"watcher/object/owner"}},
	"output/changes":                {reason: "it is a format of its own", imports: []string{"output/text", "watcher/event", "output", "output/inventory", "watcher/object/change", "watcher/object/churn", "watcher/object/kubeevent", "watcher/object/owner", "watcher/object/pod", "watcher/object/status"}},
	"output/live":                   {reason: "it shows the inventory on a terminal and uses the server only through callbacks", imports: []string{"output/text", "watcher/event", "output", "output/inventory", "watcher/object/change", "watcher/object/kubeevent", "watcher/object/owner", "output/changes"}},
	"output/inventory":              {reason: "it stores the observed objects for any view", imports: []string{"output/text", "watcher/event", "watcher/pack", "output", "watcher/object/change", "watcher/object/history", "watcher/object/kubeevent", "watcher/object/owner", "watcher/object/reason", "watcher/object/refer", "watcher/object/status"}},
	"output/page":                   {reason: "it shows the inventory in browsers and does not contact a server", imports: []string{"output/text", "watcher/event", "watcher/filter", "output", "output/inventory", "watcher/object/change", "watcher/object/churn", "watcher/object/expression", "watcher/object/kubeevent", "watcher/object/owner", "watcher/object/pod"}},
	"output/chat":                   {reason: "it formats events as chat messages and does not send them", imports: []string{"output/text", "watcher/event", "watcher/object/change", "output", "output/changes"}},
	"output/deliver":                {reason: "it queues messages and does not depend on the source of the events", imports: []string{"output/text", "watcher/event", "output"}},
	"output/deliver/cloudevent":     {reason: "it encodes a message and does not send it", imports: []string{"output/deliver"}},
	"output/deliver/jetstream":      {reason: "it makes one attempt to publish a message", imports: []string{"output/deliver", "output/deliver/cloudevent"}},
	"output/deliver/kafka":          {reason: "it has the options and does not produce", imports: []string{"output/deliver", "output/deliver/secret"}},
	"output/deliver/kafka/producer": {reason: "it makes one attempt to produce a message", imports: []string{"output/deliver", "output/deliver/cloudevent", "output/deliver/kafka", "output/deliver/secret", "watcher/event"}},
	"output/deliver/secret":         {reason: "it reads secrets and does not use them", imports: []string{"output/deliver"}},
	"output/deliver/otlp":           {reason: "it encodes a message and does not send it", imports: []string{"output/deliver"}},
	"output/deliver/webhook":        {reason: "it makes one attempt to send a message over HTTP", imports: []string{"output/deliver", "output/deliver/cloudevent", "output/deliver/otlp", "output/deliver/secret"}},
	"watcher":                       {reason: "it produces events and does not depend on their consumers", imports: []string{"watcher/event", "watcher/source", "watcher/ledger", "watcher/codec"}},
	"watcher/source":                {reason: "it is the connection of one target and does not know which events were reported", imports: []string{"watcher/event", "watcher/codec"}},
	"watcher/ledger":                {reason: "it knows what was reported and does not depend on the source", imports: []string{"watcher/event"}},
	"watcher/codec":                 {reason: "it decodes responses for any purpose", imports: []string{"watcher/event"}},
	"watcher/resume":                {reason: "it is a stage that knows only events and the next sink", imports: []string{"watcher/event"}},
	"watcher/pack":                  {reason: "it compresses text for any purpose"},
	"watcher/recording":             {reason: "it stores lines of events and does not encode the events", imports: []string{"watcher/event", "watcher/pack"}},
	"watcher/recording/remote":      {reason: "it serves and fetches segments and does not decide who may read them", imports: []string{"watcher/recording"}},
	"watcher/filter":                {reason: "it is a stage that knows only events and the next sink", imports: []string{"watcher/event"}},
	"watcher/broadcast":             {reason: "it shares one watch among sinks and does not depend on concrete sinks", imports: []string{"watcher/event", "watcher/ledger"}},
	"watcher/until":                 {reason: "it is a stage that knows only events, conditions and the next sink", imports: []string{"watcher/event", "watcher/object/expression"}},
	"watcher/object/expression":     {reason: "it evaluates conditions for any purpose", imports: []string{"watcher/event", "watcher/object/change", "watcher/object/pod", "watcher/object/status", "internal/spelling"}},
	"watcher/object/history":        {reason: "it reconstructs past changes from objects and does not contact a server", imports: []string{"watcher/event", "watcher/object/change", "watcher/object/kubeevent"}},
	"watcher/settle":                {reason: "it is a stage that knows only events, related objects and the next sink", imports: []string{"watcher/event", "watcher/object/change", "watcher/object/kubeevent", "watcher/object/owner", "watcher/object/status"}},
	"watcher/subject":               {reason: "it is a stage that knows events and owners, and does not contact a server", imports: []string{"watcher/event", "watcher/object/kubeevent", "watcher/object/owner", "watcher/object/refer"}},
	"watcher/object/churn":          {reason: "it counts changes for any view", imports: []string{"watcher/event", "watcher/object/change"}},
	"output/top":                    {reason: "it shows the counts of changes", imports: []string{"output/text", "watcher/event", "output", "watcher/object/change", "watcher/object/churn"}},
	"watcher/event":                 {reason: "everything may import it, so it imports nothing"},
}

// wrongImports describes the imports that break a rule.
func wrongImports(imported map[string][]string) []string {
	var wrong []string
	for importer, imports := range imported {
		r, known := importRules[importer]
		if !known {
			wrong = append(wrong, fmt.Sprintf("%s has no rule: add one to importRules in cli/imports_test.go, and the package to docs/contributing/architecture.md", importer))
			continue
		}
		for _, i := range imports {
			if !r.allows(i) {
				may := cmp.Or(strings.Join(r.imports, ", "), "nothing")
				if len(r.except) > 0 {
					may += " except " + strings.Join(r.except, ", ")
				}
				wrong = append(wrong, fmt.Sprintf("%s may not import %s: %s (it may import: %s)", importer, i, r.reason, may))
			}
		}
	}
	slices.Sort(wrong)
	return wrong
}

func (r importRule) allows(path string) bool {
	all := slices.Contains(r.imports, "*") && path != "." && !slices.Contains(r.except, path)
	return all || slices.Contains(r.imports, path)
}

// TestImports checks the imports of all packages on each platform. Imports of tests do not count.
func TestImports(t *testing.T) {
	imported, err := importsOfOurs()
	if err != nil {
		t.Fatal(err)
	}
	if len(imported["cli"]) == 0 {
		t.Errorf("no imports found: %v", imported)
	}
	for _, text := range wrongImports(imported) {
		t.Error(text)
	}
}

// TestWrongImports checks that imports in the opposite direction and packages without a rule are found.
func TestWrongImports(t *testing.T) {
	for name, rule := range importRules {
		for _, i := range rule.imports {
			if found := wrongImports(map[string][]string{i: {name}}); i != "*" && len(found) == 0 {
				t.Errorf("%s may import %s, and %[2]s may import %[1]s", name, i)
			}
		}
	}
	got := wrongImports(map[string][]string{"cli/report": {"output", "mapper"}, "cli/run": {"cli/destination"}, "util": nil})
	for i, want := range []string{"cli/report may not import mapper: ", "cli/run may not import cli/destination: ", "util has no rule: "} {
		if i >= len(got) || !strings.HasPrefix(got[i], want) {
			t.Errorf("got %q, want a line that begins with %q", got, want)
		}
	}
}

// importsOfOurs returns the packages of the module that each package imports. Directories called testdata are not part of the
// program.
func importsOfOurs() (map[string][]string, error) {
	root, err := testenv.ModuleRoot()
	if err != nil {
		return nil, err
	}
	imported := map[string][]string{}
	err = eachSource(root, func(file string) error {
		folder, err := filepath.Rel(root, filepath.Dir(file))
		if err != nil {
			return err
		}
		importer := filepath.ToSlash(folder)
		found, err := importsOf(file)
		imported[importer] = append(imported[importer], found...)
		return err
	})
	for importer, imports := range imported {
		imported[importer] = slices.Compact(slices.Sorted(slices.Values(imports)))
	}
	return imported, err
}

func importsOf(file string) ([]string, error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	var ours []string
	for _, spec := range parsed.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		if inside, ok := strings.CutPrefix(name+"/", module+"/"); ok {
			ours = append(ours, path.Clean(inside))
		}
	}
	return ours, nil
}
