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
var module = path.Dir(reflect.TypeFor[room]().PkgPath())

// room is a package, or several that are alike, and what it may import of ours.
type room struct {
	what    string
	imports []string
}

// house has every room. Imports run one way: from what decides to what serves.
var house = map[string]room{
	".":                             {"main starts the program, and that is all", []string{"cli"}},
	"cli":                           {"it composes everything", []string{"*"}},
	"cli/cluster":                   {"it leads to a server, whatever that is asked", []string{"cli/fail"}},
	"cli/access":                    {"it knows rights, not how they are reported", []string{"watcher/event", "watcher/object/owner", "cli/fail", "cli/cluster"}},
	"cli/report":                    {"it says what the events mean, and asks nobody but through what it is given", []string{"watcher/event", "cli/access", "cli/fail", "output"}},
	"cli/metrics":                   {"it counts, and says over HTTP how a run is", []string{"watcher/event", "output/deliver"}},
	"cli/lookup":                    {"it asks the server what helps people, and decides nothing", []string{"watcher/event", "watcher/object/change", "watcher/object/kubeevent", "watcher/object/owner", "watcher/object/pod", "watcher/object/reason", "watcher/object/refer", "watcher/object/status", "cli/cluster", "mapper", "internal/spelling"}},
	"cli/flags":                     {"it turns what is typed into values, and asks no server", []string{"cli/plan", "mapper", "output", "output/chat", "output/deliver", "output/deliver/jetstream", "output/deliver/kafka", "output/deliver/otlp", "output/deliver/secret", "output/deliver/webhook", "output/top", "watcher/event", "watcher/filter", "watcher/object/change", "watcher/object/expression", "watcher/object/readiness", "watcher/until"}},
	"cli/rules":                     {"it reads a file, and does not know what its rules do", []string{"internal/spelling"}},
	"cli/manifest":                  {"it makes text of what it is told, and asks nobody", nil},
	"cli/lease":                     {"it knows who leads, and not with what", nil},
	"cli/gc":                        {"it is ready before what imports anything", nil},
	"cli/complete":                  {"it answers a shell, with the names that the server has", []string{"watcher/event", "cli/plan", "cli/cluster", "cli/fail", "mapper", "output"}},
	"cli/plan":                      {"it turns names into targets, and does not know how they are watched", []string{"watcher/event", "cli/fail", "mapper"}},
	"cli/fail":                      {"it explains the errors of the rooms below; one of a room beside it explains itself", []string{"mapper", "output"}},
	"mapper":                        {"it turns names into resources, for whatever purpose", []string{"watcher/event", "internal/spelling"}},
	"internal/spelling":             {"it compares names, of whatever they are", nil},
	"output":                        {"it turns events into bytes, wherever they come from", []string{"output/text", "watcher/event", "watcher/object/change"}},
	"output/text":                   {"it escapes and shortens text for people, and knows nothing about events", nil},
	"watcher/object/change":         {"it compares objects, and does not know events", nil},
	"watcher/object/reason":         {"it says what is wrong with an object, and asks nobody", []string{"watcher/object/kubeevent", "watcher/object/pod"}},
	"watcher/object/readiness":      {"it judges the status of one object, and asks nobody", nil},
	"watcher/object/status":         {"it tells in which state an object is, and does not know events", []string{"watcher/object/pod", "watcher/object/readiness", "watcher/object/reason"}},
	"watcher/object/owner":          {"it knows what objects refer to, and not how the server is asked for them", nil},
	"watcher/object/refer":          {"it reads which objects a spec names, and asks nobody", []string{"watcher/object/owner"}},
	"watcher/object/pod":            {"it reads what a Pod says of its containers, and does not know events", nil},
	"watcher/object/kubeevent":      {"it reads Events of Kubernetes, wherever they come from", []string{"watcher/object/owner"}},
	"output/changes":                {"it is a format of its own", []string{"output/text", "watcher/event", "output", "output/inventory", "watcher/object/change", "watcher/object/churn", "watcher/object/kubeevent", "watcher/object/owner", "watcher/object/pod", "watcher/object/status"}},
	"output/live":                   {"it draws the inventory on a terminal, and asks no server but through what it is given", []string{"output/text", "watcher/event", "output", "output/inventory", "watcher/object/change", "watcher/object/kubeevent", "watcher/object/owner", "output/changes"}},
	"output/inventory":              {"it holds what the events say is there, for whoever shows it", []string{"output/text", "watcher/event", "watcher/pack", "output", "watcher/object/change", "watcher/object/history", "watcher/object/kubeevent", "watcher/object/owner", "watcher/object/reason", "watcher/object/refer", "watcher/object/status"}},
	"output/page":                   {"it draws the inventory for browsers, and asks no server", []string{"output/text", "watcher/event", "watcher/filter", "output", "output/inventory", "watcher/object/change", "watcher/object/churn", "watcher/object/expression", "watcher/object/kubeevent", "watcher/object/owner", "watcher/object/pod"}},
	"output/chat":                   {"it makes messages of events, and does not know who sends them", []string{"output/text", "watcher/event", "watcher/object/change", "output", "output/changes"}},
	"output/deliver":                {"it queues what is sent, and does not know where from", []string{"output/text", "watcher/event", "output"}},
	"output/deliver/cloudevent":     {"it describes a message, and does not send it", []string{"output/deliver"}},
	"output/deliver/jetstream":      {"it publishes a message, once", []string{"output/deliver", "output/deliver/cloudevent"}},
	"output/deliver/kafka":          {"it says where to produce, and does not do it", []string{"output/deliver", "output/deliver/secret"}},
	"output/deliver/kafka/producer": {"it produces a message, once", []string{"output/deliver", "output/deliver/cloudevent", "output/deliver/kafka", "output/deliver/secret", "watcher/event"}},
	"output/deliver/secret":         {"it reads what is secret, and does not know what for", []string{"output/deliver"}},
	"output/deliver/otlp":           {"it describes a message, and does not send it", []string{"output/deliver"}},
	"output/deliver/webhook":        {"it sends a message over HTTP, once", []string{"output/deliver", "output/deliver/cloudevent", "output/deliver/otlp", "output/deliver/secret"}},
	"watcher":                       {"it makes events, and does not know who takes them", []string{"watcher/event", "watcher/source", "watcher/ledger", "watcher/codec"}},
	"watcher/source":                {"it is one target's connection, and does not know what was reported", []string{"watcher/event", "watcher/codec"}},
	"watcher/ledger":                {"it knows what was reported, and not from where it came", []string{"watcher/event"}},
	"watcher/codec":                 {"it decodes, and does not know what for", []string{"watcher/event"}},
	"watcher/resume":                {"it is a stage: it knows events, and the sink behind it", []string{"watcher/event"}},
	"watcher/pack":                  {"it compresses text, and does not know what for", nil},
	"watcher/recording":             {"it keeps lines of events, and does not know how they are encoded", []string{"watcher/event", "watcher/pack"}},
	"watcher/recording/remote":      {"it gives and asks for segments as they are, and does not know who may have them", []string{"watcher/recording"}},
	"watcher/filter":                {"it is a stage: it knows events, and the sink behind it", []string{"watcher/event"}},
	"watcher/broadcast":             {"it gives one watch to several sinks, and does not know what they are", []string{"watcher/event", "watcher/ledger"}},
	"watcher/until":                 {"it is a stage: it knows events and conditions, and the sink behind it", []string{"watcher/event", "watcher/object/expression"}},
	"watcher/object/expression":     {"it says whether a condition holds, and does not know what for", []string{"watcher/event", "watcher/object/change", "watcher/object/pod", "watcher/object/status", "internal/spelling"}},
	"watcher/object/history":        {"it says what happened to objects, as they show it, and asks nobody", []string{"watcher/event", "watcher/object/change", "watcher/object/kubeevent"}},
	"watcher/settle":                {"it is a stage: it knows events and what belongs together, and the sink behind it", []string{"watcher/event", "watcher/object/change", "watcher/object/kubeevent", "watcher/object/owner", "watcher/object/status"}},
	"watcher/subject":               {"it is a stage: it knows events and owners, and not how the server is asked for them", []string{"watcher/event", "watcher/object/kubeevent", "watcher/object/owner", "watcher/object/refer"}},
	"watcher/object/churn":          {"it counts changes, for whoever shows them", []string{"watcher/event", "watcher/object/change"}},
	"output/top":                    {"it shows what is counted", []string{"output/text", "watcher/event", "output", "watcher/object/change", "watcher/object/churn"}},
	"watcher/event":                 {"everything may import it, so it imports nothing", nil},
}

// complaints says what is wrong with what each package imports of ours.
func complaints(imported map[string][]string) []string {
	var wrong []string
	for importer, imports := range imported {
		r, known := house[importer]
		if !known {
			wrong = append(wrong, fmt.Sprintf("%s is no room of the house: add it to house in cli/imports_test.go, with what it may import and why, and to docs/architecture.md", importer))
			continue
		}
		for _, i := range imports {
			if all := slices.Contains(r.imports, "*") && i != "."; !all && !slices.Contains(r.imports, i) {
				may := cmp.Or(strings.Join(r.imports, ", "), "nothing")
				wrong = append(wrong, fmt.Sprintf("%s may not import %s: %s (it may import: %s)", importer, i, r.what, may))
			}
		}
	}
	slices.Sort(wrong)
	return wrong
}

// TestImports: the packages import each other as house says, on each platform.
// What only tests import does not count.
func TestImports(t *testing.T) {
	imported, err := importsOfOurs()
	if err != nil {
		t.Fatal(err)
	}
	if len(imported["cli"]) == 0 {
		t.Errorf("nothing is found: %v", imported)
	}
	for _, complaint := range complaints(imported) {
		t.Error(complaint)
	}
}

// TestComplaints: an arrow that is turned round is found, and so is a room that
// nobody described.
func TestComplaints(t *testing.T) {
	for room, rule := range house {
		for _, i := range rule.imports {
			if turned := complaints(map[string][]string{i: {room}}); i != "*" && len(turned) == 0 {
				t.Errorf("%s may import %s, and %[2]s may import %[1]s", room, i)
			}
		}
	}
	got := complaints(map[string][]string{"cli/report": {"output", "mapper"}, "util": nil})
	want := []string{
		"cli/report may not import mapper: it says what the events mean, and asks nobody but through what it is given (it may import: watcher/event, cli/access, cli/fail, output)",
		"util is no room of the house: add it to house in cli/imports_test.go, with what it may import and why, and to docs/architecture.md",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
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
