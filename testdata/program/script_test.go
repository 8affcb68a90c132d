package program

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"dwatch/cli"
	"dwatch/cli/complete"
	"dwatch/testdata/race"
	"dwatch/testdata/testenv"
)

// The scripts of testdata/script run the built binary against one real API server. Each script has its own namespace, $NS, which
// is the default namespace of both contexts of its kubeconfig, admin and limited. $SERVER is the URL of the server, $DWATCH the
// path of dwatch, and $BRIEF a --timeout for commands that should reach it. The scripts of testdata/script/controllers run
// against another server, which has controllers and nodes (controllers_test.go).
//
// In addition to the commands of testscript, the scripts have:
//
//	apply FILE...              create or update objects, by server-side apply, and
//	                           wait until CRDs and bindings are in force
//	delete TYPE/NAME...        delete objects (TYPE/NAMESPACE/NAME in another
//	                           namespace), and wait until they are gone
//	patch TYPE/NAME JSON       merge a patch into an object
//	nudge TYPE/NAME NAME.out|log REGEXP   change an object repeatedly until the output of a
//	                           program matches, and wait until it has the last change
//	start NAME CMD [ARG...]    start a command in the background
//	await NAME.out|err REGEXP [N]   wait until its output matches (N times); NAME.log is
//	                           the log of a receiver, which is also written to that file
//	quit NAME [SIGNAL]         end it by a signal (default SIGINT) and wait; its exit code
//	                           must be 0, except after SIGKILL
//	end NAME CODE              wait for its end with that exit code
//	interrupt NAME CODE        end it by SIGINT, and wait for that exit code
//	events FILE                print TYPE [initial] KIND NAME for each event
//	receiver NAME [KIND]       start a receiver of webhooks, whose URL is $NAME, with
//	                           host and port $NAME_HOST (see receiverKinds)
//	answer NAME CODE [HEADER]...   set its response, which is 200 at first
//	down NAME, up NAME         stop it, and start it again at the same address
//	fails CODE CMD [ARG...]    run a command that must end soon with that exit code,
//	                           no stdout, and its errors in one line each
//	nats up [FLAG...]          start a NATS server with JetStream, or start it again;
//	                           $NATS is its HOST:PORT
//	nats down                  kill it
//	nats stream NAME SUBJECT   create a stream, or change its subjects
//	nats read NAME             print the subject, the headers and the body of each
//	                           message in a stream
//	nats await NAME REGEXP     wait until these match
//	kafka up [FLAG...]         start a broker of Kafka with the topic k8s, or start it again;
//	                           $KAFKA is its HOST:PORT
//	kafka down                 kill it
//	kafka LINE...              send it a command (see testdata/kafka/main.go)
//	kafka read                 print key, headers and value of each record of k8s
//	kafka await REGEXP         wait until these match
//	get NAME PATH CODE REGEXP  send requests to a program with --listen until the
//	                           response matches, and print the body
//	address NAME VARIABLE      set an environment variable to the URL of the page of a
//	                           dwatch serve
//	recorded DIR FILE          write a recording of the events in FILE, moved so that
//	                           they end a minute ago
//	kubelet                    start a kubelet that serves logs, with a node $NS
//	                           (see startKubelet)
//
// After quit and end, the output of a program is in the files NAME.out and NAME.err. The times at the start of dwatch's lines on
// stderr are removed (testdata/stderrlog). dated.txtar tests these.

const scripts = "../script"

var (
	testbed  *testenv.Cluster
	binaries string // a directory with dwatch, under all its names
)

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	flag.Parse()
	os.Unsetenv("GOGC")                   // set by make test; dwatch sets its own
	flag.Set("test.parallel", parallel()) // tests mostly wait, but too many at once would exceed their deadlines
	dir, err := os.MkdirTemp("", "dwatch-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binaries = dir
	os.Setenv(raceOptions())
	if err := build(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		if err := stopControllers(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}()
	return testenv.Main(m, &testbed)
}

// parallel returns the maximum number of tests that run at once.
func parallel() string {
	if race.Enabled {
		return "6"
	}
	return "12"
}

// brief returns a --timeout for commands that should reach it. It is long enough to list the existing objects.
func brief() string {
	if race.Enabled {
		return "6s"
	}
	return "3s"
}

// build builds dwatch, and the wrapper that removes the times from its messages.
func build(dir string) error {
	if err := testenv.Build(filepath.Join(dir, "dwatch")); err != nil {
		return err
	}
	if err := link(dir); err != nil {
		return err
	}
	undated := filepath.Join(dir, undatedDir)
	if out, err := exec.Command("go", "build", "-o", filepath.Join(undated, "dwatch"), "../stderrlog/striptimes").CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return link(undated)
}

// undatedDir is the subdirectory of binaries with the wrappers that scripts run by exec. Their messages have no times.
const undatedDir = "undated"

// link creates a symlink for each other name of dwatch.
func link(dir string) error {
	for _, name := range []string{cli.PluginName, complete.PluginName} {
		if err := os.Symlink("dwatch", filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// raceOptions returns an environment variable. Otherwise a program with the race detector sleeps for a second at its end
// to wait for remaining goroutines. dwatch waits for its goroutines itself.
func raceOptions() (name, value string) { return "GORACE", "atexit_sleep_ms=0" }

// commands are the commands that scripts have in addition to those of testscript.
var commands = map[string]func(*testscript.TestScript, bool, []string){
	"apply":     apply,
	"delete":    remove,
	"patch":     patch,
	"nudge":     nudge,
	"start":     start,
	"await":     await,
	"quit":      quit,
	"end":       end,
	"interrupt": interrupt,
	"events":    events,
	"fails":     fails,
	"nats":      natsCommand,
	"kafka":     kafkaCommand,
	"get":       get,
	"receiver":  startReceiver,
	"answer":    answer,
	"down":      down,
	"up":        up,
	"kubelet":   startKubelet,
	"recorded":  writeRecorded,
	"address":   address,
}

func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 scripts,
		Setup:               setup,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
		Cmds:                commands,
	})
}

// TestScriptsGoOn checks that no script uses testscript's command "stop", which ends a script early as a success. A
// script that means to stop a program would skip its remaining lines.
func TestScriptsGoOn(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(scripts, "*.txtar"))
	more, moreErr := filepath.Glob(filepath.Join(controlled, "*.txtar"))
	if err := errors.Join(err, moreErr); err != nil {
		t.Fatal(err)
	}
	for _, script := range append(files, more...) {
		text, err := os.ReadFile(script)
		if err != nil {
			t.Fatal(err)
		}
		if regexp.MustCompile(`(?m)^stop\b`).Match(text) {
			t.Errorf("%s: the command stop ends the script, not a program: use quit", script)
		}
	}
}

// bench is the state that the commands of a script share.
type bench struct {
	objects   *objects
	programs  map[string]*program
	receivers map[string]*hook
	nats      *testenv.NATS  // nil: none was started
	kafka     *testenv.Kafka // nil: none was started
}

type benchKey struct{}

func setup(env *testscript.Env) error { return setupOn(testbed, env) }

// setupOn prepares a script that runs against the server c.
func setupOn(c *testenv.Cluster, env *testscript.Env) error {
	o, err := newObjectsOn(c)
	if err != nil {
		return err
	}
	b := &bench{objects: o, programs: map[string]*program{}, receivers: map[string]*hook{}}
	env.Values[benchKey{}] = b
	env.Defer(func() {
		for _, p := range b.programs {
			p.kill()
		}
		if b.nats != nil {
			b.nats.Kill()
		}
		if b.kafka != nil {
			b.kafka.Kill()
		}
		for _, r := range b.receivers {
			r.stop()
		}
		o.leave()
	})
	kubeconfig := filepath.Join(env.WorkDir, ".kubeconfig")
	env.Setenv("NS", o.namespace)
	env.Setenv("SERVER", o.config.Host)
	env.Setenv("DWATCH", filepath.Join(binaries, "dwatch"))
	env.Setenv("BRIEF", brief())
	env.Setenv(raceOptions())
	env.Setenv("KUBECONFIG", kubeconfig)
	env.Setenv("PATH", filepath.Join(binaries, undatedDir)+string(os.PathListSeparator)+binaries+string(os.PathListSeparator)+os.Getenv("PATH"))
	return writeKubeconfigOf(c, kubeconfig, o.namespace)
}

// writeKubeconfig writes the cluster's kubeconfig with namespace as the default namespace.
func writeKubeconfig(path, namespace string) error {
	return writeKubeconfigOf(testbed, path, namespace)
}

func writeKubeconfigOf(c *testenv.Cluster, path, namespace string) error {
	config, err := clientcmd.LoadFromFile(c.Kubeconfig)
	if err != nil {
		return err
	}
	for _, c := range config.Contexts {
		c.Namespace = namespace
	}
	return clientcmd.WriteToFile(*config, path)
}

func of(ts *testscript.TestScript) *bench { return ts.Value(benchKey{}).(*bench) }

func apply(ts *testscript.TestScript, neg bool, args []string) {
	for _, file := range args {
		ts.Check(of(ts).objects.apply(ts.MkAbs(file), strings.NewReplacer("$NS", ts.Getenv("NS"))))
	}
}

func remove(ts *testscript.TestScript, neg bool, args []string) {
	for _, arg := range args {
		ts.Check(of(ts).objects.remove(arg))
	}
}

func patch(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: patch TYPE/NAME JSON")
	}
	ts.Check(of(ts).objects.patch(args[0], args[1]))
}

func nudge(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: nudge TYPE/NAME NAME.out|NAME.err|NAME.log REGEXP")
	}
	pattern, err := regexp.Compile("(?m)" + args[2])
	ts.Check(err)
	name, stream, _ := strings.Cut(args[1], ".")
	var out *transcript
	var ended <-chan struct{}
	if stream == "log" {
		out = &of(ts).receivers[name].log
	} else {
		out, ended = &of(ts).programs[name].stdout, of(ts).programs[name].ended
		if stream == "err" {
			out = &of(ts).programs[name].stderr
		}
	}
	deadline := time.Now().Add(patience)
	last := ""
	for i := 0; !pattern.MatchString(out.String()); i++ {
		if time.Now().After(deadline) {
			ts.Fatalf("%s does not match %s", args[1], args[2])
		}
		last = fmt.Sprintf(`nudge\b.*\b%d\b`, i) // matches JSON and the changes view
		ts.Check(of(ts).objects.patch(args[0], fmt.Sprintf(`{"metadata":{"annotations":{"nudge":"%d"}}}`, i)))
	}
	if !out.await(regexp.MustCompile(last), 1, ended) {
		ts.Fatalf("%s does not have the last change, %s", args[1], last)
	}
}

func start(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: start NAME CMD [ARG...]")
	}
	p, err := newProgram(ts, args[1:])
	ts.Check(err)
	of(ts).programs[args[0]] = p
}

func await(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: await NAME.out|NAME.err|NAME.log REGEXP [N]")
	}
	times := 1
	if len(args) == 3 {
		_, err := fmt.Sscan(args[2], &times)
		ts.Check(err)
	}
	name, stream, _ := strings.Cut(args[0], ".")
	pattern, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	if stream == "log" {
		awaitLog(ts, of(ts).receivers[name], pattern, times)
		return
	}
	p := of(ts).programs[name]
	out := &p.stdout
	if stream == "err" {
		out = &p.stderr
	}
	if !out.await(pattern, times, p.ended) {
		ts.Fatalf("%s does not match %s %d times\nstdout:\n%s\nstderr:\n%s", args[0], args[1], times, p.stdout.String(), p.stderr.String())
	}
}

func quit(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: quit NAME [SIGNAL]")
	}
	signal := os.Signal(os.Interrupt)
	if len(args) == 2 {
		signal = signals[args[1]]
	}
	p := of(ts).programs[args[0]]
	ts.Check(p.cmd.Process.Signal(signal))
	code := 0
	if signal == os.Kill {
		code = -1
	}
	finish(ts, args[0], code)
}

func interrupt(ts *testscript.TestScript, neg bool, args []string) {
	ts.Check(of(ts).programs[args[0]].cmd.Process.Signal(os.Interrupt))
	end(ts, neg, args)
}

func end(ts *testscript.TestScript, neg bool, args []string) {
	var code int
	_, err := fmt.Sscan(args[1], &code)
	ts.Check(err)
	finish(ts, args[0], code)
}

// finish waits for a program and writes its output to files.
func finish(ts *testscript.TestScript, name string, code int) {
	p := of(ts).programs[name]
	got, ok := p.wait()
	ts.Check(os.WriteFile(ts.MkAbs(name+".out"), []byte(p.stdout.String()), 0o644))
	ts.Check(os.WriteFile(ts.MkAbs(name+".err"), []byte(p.stderr.String()), 0o644))
	ts.Logf("stdout:\n%sstderr:\n%s", p.stdout.String(), p.stderr.String())
	if !ok {
		ts.Fatalf("%s does not end", name)
	}
	if got != code {
		ts.Fatalf("%s ended with %d, want %d", name, got, code)
	}
}

// events prints the events of a stream without the fields that differ from run to run.
func events(ts *testscript.TestScript, neg bool, args []string) {
	decoder := json.NewDecoder(bytes.NewReader([]byte(ts.ReadFile(args[0]))))
	for decoder.More() {
		var e struct {
			Type                       string
			Initial, FinalStateUnknown bool
			Object                     metav1.PartialObjectMetadata
		}
		ts.Check(decoder.Decode(&e))
		words := []string{e.Type}
		if e.Initial {
			words = append(words, "initial")
		}
		if e.FinalStateUnknown {
			words = append(words, "finalStateUnknown")
		}
		words = append(words, e.Object.Kind, e.Object.Name)
		fmt.Fprintln(ts.Stdout(), strings.Join(words, " "))
	}
}

// patience is the time limit of each wait. It only determines how soon a failure is reported. The API server may take a
// minute to delete a CRD.
const patience = 2 * time.Minute
