package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"dwatch/testdata/bed"
)

// The scripts of testdata/script run the built binary against one real API
// server. Each has a namespace of its own, $NS, which is the default namespace
// of both contexts of its kubeconfig, admin and limited.
//
// Besides testscript's own, they have these commands:
//
//	apply FILE...              create or update objects, by server-side apply
//	delete TYPE/NAME...        delete objects, and wait until they are gone
//	patch TYPE/NAME JSON       merge a patch into an object
//	start NAME CMD [ARG...]    start a command in the background
//	await NAME.out|err REGEXP [N]   wait until its output matches (N times)
//	stop NAME [SIGNAL]         end it (SIGINT), wait; it must exit with 0
//	end NAME CODE              wait for its end with that exit code
//	events FILE                print TYPE [initial] KIND NAME for each event
//
// After stop and end its output is in the files NAME.out and NAME.err.

var (
	testbed  *bed.Cluster
	binaries string // a directory with dwatch, under all its names
)

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "dwatch-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binaries = dir
	if err := build(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return bed.Main(m, &testbed)
}

// build builds dwatch, with the race detector if the test has it.
func build(dir string) error {
	args := []string{"build", "-o", filepath.Join(dir, "dwatch")}
	if raceEnabled {
		args = append(args, "-race")
	}
	if out, err := exec.Command("go", append(args, ".")...).CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	for _, name := range []string{pluginName, completionPlugin} {
		if err := os.Symlink("dwatch", filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		Setup:               setup,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"apply":  apply,
			"delete": remove,
			"patch":  patch,
			"start":  start,
			"await":  await,
			"stop":   stop,
			"end":    end,
			"events": events,
		},
	})
}

// bench is what the commands of one script share.
type bench struct {
	objects  *objects
	programs map[string]*program
}

type benchKey struct{}

func setup(env *testscript.Env) error {
	ctx := context.Background()
	config, err := testbed.Config("admin")
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	ns, err := client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "script-"},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	kubeconfig := filepath.Join(env.WorkDir, ".kubeconfig")
	if err := writeKubeconfig(kubeconfig, ns.Name); err != nil {
		return err
	}
	env.Setenv("NS", ns.Name)
	env.Setenv("KUBECONFIG", kubeconfig)
	env.Setenv("PATH", binaries+string(os.PathListSeparator)+os.Getenv("PATH"))
	objects, err := newObjects(config, ns.Name)
	if err != nil {
		return err
	}
	b := &bench{objects: objects, programs: map[string]*program{}}
	env.Values[benchKey{}] = b
	env.Defer(func() {
		for _, p := range b.programs {
			p.kill()
		}
		// Nobody waits for it: the API server ends with the test.
		_ = client.CoreV1().Namespaces().Delete(context.Background(), ns.Name, metav1.DeleteOptions{})
	})
	return nil
}

// writeKubeconfig writes the cluster's kubeconfig with another namespace.
func writeKubeconfig(path, namespace string) error {
	config, err := clientcmd.LoadFromFile(testbed.Kubeconfig)
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
		ts.Fatalf("usage: await NAME.out|NAME.err REGEXP [N]")
	}
	times := 1
	if len(args) == 3 {
		_, err := fmt.Sscan(args[2], &times)
		ts.Check(err)
	}
	name, stream, _ := strings.Cut(args[0], ".")
	p := of(ts).programs[name]
	pattern, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	out := &p.stdout
	if stream == "err" {
		out = &p.stderr
	}
	if !out.await(pattern, times, p.ended) {
		ts.Fatalf("%s does not match %s %d times\nstdout:\n%s\nstderr:\n%s", args[0], args[1], times, p.stdout.String(), p.stderr.String())
	}
}

func stop(ts *testscript.TestScript, neg bool, args []string) {
	signal := os.Signal(os.Interrupt)
	if len(args) == 2 {
		signal = signals[args[1]]
	}
	p := of(ts).programs[args[0]]
	ts.Check(p.cmd.Process.Signal(signal))
	finish(ts, args[0], 0)
}

func end(ts *testscript.TestScript, neg bool, args []string) {
	var code int
	_, err := fmt.Sscan(args[1], &code)
	ts.Check(err)
	finish(ts, args[0], code)
}

// finish waits for a program and leaves its output in files.
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

// events prints what a stream says, without what differs from run to run.
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

// patience bounds each wait of a script. It only decides how soon a failure is
// seen.
const patience = time.Minute
