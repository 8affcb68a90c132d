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

// module is the path of the module, which may get another one (make home).
var module = path.Dir(reflect.TypeFor[importRule]().PkgPath())

// importRule says which packages of this module a package may import, and why not more.
type importRule struct {
	reason  string
	imports []string // "*" allows all packages that except does not name
	except  []string
}

// importRules has a rule for every package. Imports run one way: from packages that decide to packages that serve.
var importRules = map[string]importRule{
	".":                             {reason: "main starts the program, and nothing else", imports: []string{"cli"}},
	"cli":                           {reason: "it parses command lines and composes runs", imports: []string{"*"}},
	"cli/supervisor":                {reason: "it runs rules, and does not parse flags", imports: []string{"*"}, except: []string{"cli", "cli/replay", "output/live", "output/page"}},
	"cli/destination":               {reason: "it consumes events, and does not know the source", imports: []string{"*"}, except: []string{"cli", "cli/supervisor", "cli/replay", "watcher"}},
	"cli/replay":                    {reason: "it is a source of events, and does not know the destination", imports: []string{"*"}, except: []string{"cli", "cli/supervisor", "cli/destination", "watcher"}},
	"cli/run":                       {reason: "it puts runs together, and does not know which destinations there are", imports: []string{"*"}, except: []string{"cli", "cli/supervisor", "cli/destination", "cli/replay", "output/live", "output/page", "output/top", "output/changes", "output/deliver"}},
	"output/text":                   {reason: "it escapes and shortens text for people, and knows nothing about events"},
	"cli/console":                   {reason: "it is the output of the process, whatever runs", imports: []string{"cli/cluster", "cli/flags", "cli/report", "output", "output/text", "watcher/event"}},
	"cli/version":                   {reason: "everything may import it, so it imports nothing"},
	"cli/cluster":                   {reason: "it leads to a server, whatever that is asked", imports: []string{"cli/fail"}},
	"cli/access":                    {reason: "it knows rights, not how they are reported", imports: []string{"watcher/event", "watcher/object/owner", "cli/fail", "cli/cluster"}},
	"cli/report":                    {reason: "it says what the events mean, and asks nobody but through what it is given", imports: []string{"watcher/event", "cli/access", "cli/fail", "output"}},
	"cli/metrics":                   {reason: "it counts, and says over HTTP how a run is", imports: []string{"watcher/event", "output/deliver"}},
	"cli/lookup":                    {reason: "it asks the server what helps people, and decides nothing", imports: []string{"watcher/event", "watcher/object/change", "watcher/object/kubeevent", "watcher/object/owner", "watcher/object/pod", "watcher/object/reason", "watcher/object/refer", "watcher/object/status", "cli/cluster", "mapper", "internal/spelling"}},
	"cli/flags":                     {reason: "it turns what is typed into values, and asks no server", imports: []string{"cli/plan", "mapper", "output", "output/chat", "output/deliver", "output/deliver/jetstream", "output/deliver/kafka", "output/deliver/otlp", "output/deliver/secret", "output/deliver/webhook", "output/top", "watcher/event", "watcher/filter", "watcher/object/change", "watcher/object/expression", "watcher/object/readiness", "watcher/until"}},
	"cli/rules":                     {reason: "it reads a file, and does not know what its rules do", imports: []string{"internal/spelling"}},
	"cli/manifest":                  {reason: "it makes text of what it is told, and asks nobody"},
	"cli/lease":                     {reason: "it knows who leads, and not with what"},
	"cli/gc":                        {reason: "it is ready before what imports anything"},
	"cli/complete":                  {reason: "it answers a shell, with the names that the server has", imports: []string{"watcher/event", "cli/plan", "cli/cluster", "cli/fail", "mapper", "output"}},
	"cli/plan":                      {reason: "it turns names into targets, and does not know how they are watched", imports: []string{"watcher/event", "cli/fail", "mapper"}},
	"cli/fail":                      {reason: "it explains the errors of the rooms below; one of a room beside it explains itself", imports: []string{"mapper", "output"}},
	"mapper":                        {reason: "it turns names into resources, for whatever purpose", imports: []string{"watcher/event", "internal/spelling"}},
	"internal/spelling":             {reason: "it compares names, of whatever they are"},
	"output":                        {reason: "it turns events into bytes, wherever they come from", imports: []string{"output/text", "watcher/event", "watcher/object/change"}},
	"watcher/object/change":         {reason: "it compares objects, and does not know events"},
	"watcher/object/reason":         {reason: "it says what is wrong with an object, and asks nobody", imports: []string{"watcher/object/kubeevent", "watcher/object/pod"}},
	"watcher/object/readiness":      {reason: "it judges the status of one object, and asks nobody"},
	"watcher/object/status":         {reason: "it tells in which state an object is, and does not know events", imports: []string{"watcher/object/pod", "watcher/object/readiness", "watcher/object/reason"}},
	"watcher/object/owner":          {reason: "it knows what objects refer to, and not how the server is asked for them"},
	"watcher/object/refer":          {reason: "it reads which objects a spec names, and asks nobody", imports: []string{"watcher/object/owner"}},
	"watcher/object/pod":            {reason: "it reads what a Pod says of its containers, and does not know events"},
	"watcher/object/kubeevent":      {reason: "it reads Events of Kubernetes, wherever they come from", imports: []string{"watcher/object/owner"}},
	"output/changes":                {reason: "it is a format of its own", imports: []string{"output/text", "watcher/event", "output", "output/inventory", "watcher/object/change", "watcher/object/churn", "watcher/object/kubeevent", "watcher/object/owner", "watcher/object/pod", "watcher/object/status"}},
	"output/live":                   {reason: "it draws the inventory on a terminal, and asks no server but through what it is given", imports: []string{"output/text", "watcher/event", "output", "output/inventory", "watcher/object/change", "watcher/object/kubeevent", "watcher/object/owner", "output/changes"}},
	"output/inventory":              {reason: "it holds what the events say is there, for whoever shows it", imports: []string{"output/text", "watcher/event", "watcher/pack", "output", "watcher/object/change", "watcher/object/history", "watcher/object/kubeevent", "watcher/object/owner", "watcher/object/reason", "watcher/object/refer", "watcher/object/status"}},
	"output/page":                   {reason: "it draws the inventory for browsers, and asks no server", imports: []string{"output/text", "watcher/event", "watcher/filter", "output", "output/inventory", "watcher/object/change", "watcher/object/churn", "watcher/object/expression", "watcher/object/kubeevent", "watcher/object/owner", "watcher/object/pod"}},
	"output/chat":                   {reason: "it makes messages of events, and does not know who sends them", imports: []string{"output/text", "watcher/event", "watcher/object/change", "output", "output/changes"}},
	"output/deliver":                {reason: "it queues what is sent, and does not know where from", imports: []string{"output/text", "watcher/event", "output"}},
	"output/deliver/cloudevent":     {reason: "it describes a message, and does not send it", imports: []string{"output/deliver"}},
	"output/deliver/jetstream":      {reason: "it publishes a message, once", imports: []string{"output/deliver", "output/deliver/cloudevent"}},
	"output/deliver/kafka":          {reason: "it says where to produce, and does not do it", imports: []string{"output/deliver", "output/deliver/secret"}},
	"output/deliver/kafka/producer": {reason: "it produces a message, once", imports: []string{"output/deliver", "output/deliver/cloudevent", "output/deliver/kafka", "output/deliver/secret", "watcher/event"}},
	"output/deliver/secret":         {reason: "it reads what is secret, and does not know what for", imports: []string{"output/deliver"}},
	"output/deliver/otlp":           {reason: "it describes a message, and does not send it", imports: []string{"output/deliver"}},
	"output/deliver/webhook":        {reason: "it sends a message over HTTP, once", imports: []string{"output/deliver", "output/deliver/cloudevent", "output/deliver/otlp", "output/deliver/secret"}},
	"watcher":                       {reason: "it makes events, and does not know who takes them", imports: []string{"watcher/event", "watcher/source", "watcher/ledger", "watcher/codec"}},
	"watcher/source":                {reason: "it is one target's connection, and does not know what was reported", imports: []string{"watcher/event", "watcher/codec"}},
	"watcher/ledger":                {reason: "it knows what was reported, and not from where it came", imports: []string{"watcher/event"}},
	"watcher/codec":                 {reason: "it decodes, and does not know what for", imports: []string{"watcher/event"}},
	"watcher/resume":                {reason: "it is a stage: it knows events, and the sink behind it", imports: []string{"watcher/event"}},
	"watcher/pack":                  {reason: "it compresses text, and does not know what for"},
	"watcher/recording":             {reason: "it keeps lines of events, and does not know how they are encoded", imports: []string{"watcher/event", "watcher/pack"}},
	"watcher/recording/remote":      {reason: "it gives and asks for segments as they are, and does not know who may have them", imports: []string{"watcher/recording"}},
	"watcher/filter":                {reason: "it is a stage: it knows events, and the sink behind it", imports: []string{"watcher/event"}},
	"watcher/broadcast":             {reason: "it gives one watch to several sinks, and does not know what they are", imports: []string{"watcher/event", "watcher/ledger"}},
	"watcher/until":                 {reason: "it is a stage: it knows events and conditions, and the sink behind it", imports: []string{"watcher/event", "watcher/object/expression"}},
	"watcher/object/expression":     {reason: "it says whether a condition holds, and does not know what for", imports: []string{"watcher/event", "watcher/object/change", "watcher/object/pod", "watcher/object/status", "internal/spelling"}},
	"watcher/object/history":        {reason: "it says what happened to objects, as they show it, and asks nobody", imports: []string{"watcher/event", "watcher/object/change", "watcher/object/kubeevent"}},
	"watcher/settle":                {reason: "it is a stage: it knows events and what belongs together, and the sink behind it", imports: []string{"watcher/event", "watcher/object/change", "watcher/object/kubeevent", "watcher/object/owner", "watcher/object/status"}},
	"watcher/subject":               {reason: "it is a stage: it knows events and owners, and not how the server is asked for them", imports: []string{"watcher/event", "watcher/object/kubeevent", "watcher/object/owner", "watcher/object/refer"}},
	"watcher/object/churn":          {reason: "it counts changes, for whoever shows them", imports: []string{"watcher/event", "watcher/object/change"}},
	"output/top":                    {reason: "it shows what is counted", imports: []string{"output/text", "watcher/event", "output", "watcher/object/change", "watcher/object/churn"}},
	"watcher/event":                 {reason: "everything may import it, so it imports nothing"},
}

// wrongImports says which imports break a rule.
func wrongImports(imported map[string][]string) []string {
	var wrong []string
	for importer, imports := range imported {
		r, known := importRules[importer]
		if !known {
			wrong = append(wrong, fmt.Sprintf("%s has no rule: add one to importRules in cli/imports_test.go, and the package to docs/architecture.md", importer))
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

// TestWrongImports: an import in the other direction is found, and so is a package without a rule.
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

// importsOfOurs returns what each package of the module imports of others in it.
// Nothing in a directory called testdata is part of the program.
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
