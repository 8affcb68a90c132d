package program

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"dwatch/output/changes"
	"dwatch/testdata/object"
	"dwatch/testdata/testenv"
	"dwatch/watcher/object/change"
)

// The scripts of testdata/golden are sequences of changes on a real API server with its controllers. Two dwatch processes
// watch them: one with -o changes, and one that records the events as JSON. The first one has to print what the changes view
// prints for the recorded events. The script contains the shape of its output: which objects change at which paths. The full
// output is tested in output/changes with recorded events, because it is reproducible there.
//
// The scripts can use some commands of testdata/script, and these:
//
//	watch RESOURCES [ARG...]  start both, and wait until they have listed the existing objects
//	await events REGEXP [N]   wait until the recorded events match
//	shape [REGEXP]            wait until both agree, stop them, and print the shape of
//	                          the output, without the lines that match: states that
//	                          controllers may skip
//	doom TYPE/NAME            delete an object, without waiting until it is gone
//	huge N                    apply the N-th state of a huge ConfigMap
//
// UPDATE_SCRIPTS=1 rewrites the shapes, UPDATE_GOLDEN=1 the recorded events.

const (
	goldens    = "../golden"
	recordings = "../../output/changes/testdata/golden"
)

func TestGolden(t *testing.T) {
	t.Parallel()
	c := goldenBed(t)
	// The scripts run in parallel, and would otherwise outlive this function.
	t.Run("scripts", func(t *testing.T) {
		testscript.Run(t, testscript.Params{
			Dir:                 goldens,
			Setup:               func(env *testscript.Env) error { return setupOn(c, env) },
			RequireExplicitExec: true,
			RequireUniqueNames:  true,
			UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
			Cmds: map[string]func(*testscript.TestScript, bool, []string){
				"apply":  apply,
				"delete": remove,
				"patch":  patch,
				"watch":  watchBoth,
				"await":  awaitEvents,
				"huge":   huge,
				"doom":   doom,
				"shape":  func(ts *testscript.TestScript, _ bool, args []string) { shape(t, ts, args) },
			},
		})
	})
}

// goldenBed starts a server with controllers for all golden scripts.
func goldenBed(t *testing.T) *testenv.Cluster {
	t.Helper()
	c, err := testenv.StartCluster("--controllers")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	if _, err := c.Run("apply", filepath.Join(goldens, "definitions.yaml")); err != nil {
		t.Fatal(err)
	}
	return c
}

const shown, recorded = "shown", "recorded" // the names of the two programs

func watchBoth(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 1 {
		ts.Fatalf("usage: watch RESOURCES [ARG...]")
	}
	start(ts, neg, append([]string{shown, "dwatch", "-o", "changes"}, args...))
	start(ts, neg, []string{recorded, "dwatch", args[0], "-o", "json", "--show-managed-fields", "--marks"})
	targets := strings.Count(args[0], ",") + 1
	p := of(ts).programs
	awaitMatches(ts, &p[recorded].stdout, p[recorded], `"type":"SYNCED"`, targets)
	// Targets without objects are reported on stderr.
	for deadline := time.Now().Add(patience); ; {
		text, more := p[shown].stdout.look()
		missing, moreTalk := p[shown].stderr.look()
		if len(counts.FindAllString(text, -1))+len(nothing.FindAllString(missing, -1)) >= targets {
			return
		}
		select {
		case <-more:
		case <-moreTalk:
		case <-p[shown].ended:
			ts.Fatalf("dwatch ended:\n%s", missing)
		case <-time.After(time.Until(deadline)):
			ts.Fatalf("dwatch has not listed all targets, stdout:\n%s\nstderr:\n%s", text, missing)
		}
	}
}

var (
	counts  = regexp.MustCompile(`(?m)^\S+ = `)
	nothing = regexp.MustCompile(`(?m)( yet$|waiting for it$)`)
)

func awaitEvents(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 || args[0] != "events" {
		ts.Fatalf("usage: await events REGEXP [N]")
	}
	await(ts, neg, append([]string{recorded + ".out"}, args[1:]...))
}

func awaitMatches(ts *testscript.TestScript, out *transcript, p *program, pattern string, n int) {
	if !out.await(regexp.MustCompile(pattern), n, p.ended) {
		ts.Fatalf("fewer than %d matches of %s\nstdout:\n%s\nstderr:\n%s", n, pattern, p.stdout.String(), p.stderr.String())
	}
}

// shape waits until the printed changes equal those of the recorded events, and writes their shape to the script's
// stdout.
func shape(t *testing.T, ts *testscript.TestScript, args []string) {
	skipped := regexp.MustCompile(strings.Join(append(args, "^$"), "|"))
	p := of(ts).programs
	var got, want sections
	var events string
	for deadline := time.Now().Add(patience); ; {
		text, more := p[shown].stdout.look()
		lines, moreEvents := p[recorded].stdout.look()
		events = lines[:strings.LastIndexByte(lines, '\n')+1]
		got, want = parseSections(text), parseSections(viewed(t, events))
		if cmp.Equal(got.plain(), want.plain()) {
			break
		}
		select {
		case <-more:
		case <-moreEvents:
		case <-time.After(time.Until(deadline)):
			ts.Fatalf("the printed changes (+) differ from those of the recorded events (-):\n%s", cmp.Diff(want.plain(), got.plain()))
		}
	}
	for _, name := range []string{shown, recorded} {
		quit(ts, false, []string{name})
	}
	ts.Stdout().Write([]byte(got.shape(of(ts).objects.namespace, skipped)))
	if os.Getenv("UPDATE_GOLDEN") != "" {
		name := strings.TrimPrefix(ts.Name(), "script-") + ".jsonl"
		ts.Check(errors.Join(os.MkdirAll(recordings, 0o755),
			os.WriteFile(filepath.Join(recordings, name), []byte(strings.ReplaceAll(events, of(ts).objects.namespace, "shop")), 0o644)))
	}
}

// viewed returns what -o changes prints for recorded events if stdout is a pipe.
func viewed(t *testing.T, events string) string {
	var b strings.Builder
	o := changes.Options{
		ShortName: object.ShortName,
		Compare:   change.Options{Noise: change.DefaultNoise(), Masks: &change.Masks{Secrets: true, Key: []byte("key")}},
	}
	if err := changes.New(&b, o).Deliver(t.Context(), object.ParseEvents(t, events)); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// sections are the lines by object, in order. The order between different objects may vary.
type sections map[string][]string

var (
	header = regexp.MustCompile(`^\d\d:\d\d:\d\d ([=+~✗◌-]) (\S+)(.*)$`)
	varies = regexp.MustCompile(`\b\d+ (s|min|h)( old| ago|$)|(bytes), [0-9a-f]{6}>`)
)

func parseSections(text string) sections {
	found := sections{}
	subject := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if h := header.FindStringSubmatch(line); h != nil {
			subject = h[2]
			line = h[1] + h[3]
			if h[1] == "=" {
				subject, line = "=", h[2]+h[3]
			}
		}
		found[subject] = append(found[subject], line)
	}
	return found
}

// plain replaces ages and the keys of hashes, which differ between runs.
func (s sections) plain() sections {
	plain := sections{}
	for subject, lines := range s {
		for _, line := range lines {
			plain[subject] = append(plain[subject], varies.ReplaceAllString(line, "N $1$2$3"))
		}
	}
	slices.Sort(plain["="])
	return plain
}

// shape returns a line for each kind of line of each object, without values.
func (s sections) shape(namespace string, skipped *regexp.Regexp) string {
	var lines []string
	for subject, texts := range s.plain() {
		for _, text := range texts {
			path := shapeOf(text)
			line := strings.ReplaceAll(subject+" "+path, namespace, "NS")
			if path != "" && !skipped.MatchString(line) {
				lines = append(lines, generated.ReplaceAllString(line, "-*"))
			}
		}
	}
	slices.Sort(lines)
	return strings.Join(slices.Compact(lines), "\n") + "\n"
}

// generated matches generated parts of names, and addresses.
var generated = regexp.MustCompile(`-[2456789b-df-hj-np-tv-xz]{8,10}(-[2456789b-df-hj-np-tv-xz]{5})?\b|-[2456789b-df-hj-np-tv-xz]{5}\b|-\d{8}\b|\b\d+\.\d+\.\d+\.\d+\b`)

// shapeOf returns a line up to its path, without the value. It returns "" for the continuation of a value and for the
// count of noise.
func shapeOf(line string) string {
	if path, isDetail := strings.CutPrefix(line, detailIndent); isDetail {
		path, _, _ = strings.Cut(path, "  ")
		if strings.HasPrefix(path, " ") || path == "" {
			return ""
		}
		return "~ " + path
	}
	if change := changeLine.FindStringSubmatch(line); change != nil {
		path, _, _ := strings.Cut(change[2], "  ")
		if path == "" || noise.MatchString(path) {
			return ""
		}
		return change[1] + " " + path
	}
	return line
}

var (
	changeLine = regexp.MustCompile(`^([~✗◌])  (.*)$`)
	noise      = regexp.MustCompile(`^\+\d+ noise$`)
)

const detailIndent = "           "

func huge(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: huge N")
	}
	var b strings.Builder
	b.WriteString("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: huge}\ndata:\n  text: |\n")
	for i := range 2000 {
		line := "line " + strings.Repeat("x", i%30)
		if i%700 == 350 {
			line += " of version " + args[0]
		}
		b.WriteString("    " + line + "\n")
	}
	b.WriteString("  line: \"" + strings.Repeat(args[0]+" and on and on ", 800) + "\"\n")
	if args[0] != "1" {
		for i := range 150 {
			b.WriteString("  " + strings.Repeat("k", i%9+1) + "-" + string(rune('a'+i%26)) + "-" + strings.Repeat("z", i/26) + ": \"" + args[0] + "\"\n")
		}
	}
	file := ts.MkAbs("huge.yaml")
	ts.Check(os.WriteFile(file, []byte(b.String()), 0o644))
	apply(ts, neg, []string{file})
}

// doom deletes an object, and does not wait until it is gone.
func doom(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: doom TYPE/NAME")
	}
	resource, name, _ := strings.Cut(args[0], "/")
	client, err := of(ts).objects.resource(context.Background(), resource, "")
	ts.Check(err)
	ts.Check(client.Delete(context.Background(), name, metav1.DeleteOptions{}))
}
