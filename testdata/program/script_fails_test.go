package program

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"k8s.io/client-go/tools/clientcmd"
)

// soon is how long dwatch may take to fail at its start. It allows for slow machines and the race detector.
const soon = 20 * time.Second

// fails runs a command that must soon end with an exit code, print nothing on stdout, and print its errors on stderr in
// one line each, after its other messages.
func fails(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: fails CODE CMD [ARG...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	p, got := runToEnd(ts, args[1:])
	for range 4 {
		if !notListed.MatchString(p.stderr.String()) {
			break
		}
		ts.Logf("once more, as dwatch had not listed the objects yet:\n%s", p.stderr.String())
		p, got = runToEnd(ts, args[1:])
	}
	fmt.Fprint(ts.Stderr(), p.stderr.String())
	ts.Logf("exit code %d\nstderr:\n%s", got, p.stderr.String())
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
	if out := p.stdout.String(); out != "" {
		ts.Fatalf("the command wrote to stdout:\n%s", out)
	}
	if wrong := stderrProblem(p.stderr.String()); wrong != "" {
		ts.Fatalf("%s in stderr:\n%s", wrong, p.stderr.String())
	}
}

// notListed matches the errors of a run whose timeout passed before dwatch had listed the objects, as on a busy machine.
var notListed = regexp.MustCompile(`: not listed yet|the server had not answered`)

// runToEnd runs a command that must soon end.
func runToEnd(ts *testscript.TestScript, args []string) (*program, int) {
	p, err := newProgram(ts, args)
	ts.Check(err)
	started := time.Now()
	code, ok := p.wait()
	if !ok {
		p.kill()
		ts.Fatalf("the command does not end\nstderr:\n%s", p.stderr.String())
	}
	if took := time.Since(started); took > soon {
		ts.Fatalf("the command took %v", took)
	}
	return p, code
}

// stderrProblem describes what is wrong with the stderr of a failed run. It returns "" if nothing is.
func stderrProblem(stderr string) string {
	lines := strings.SplitAfter(stderr, "\n")
	if last := lines[len(lines)-1]; last != "" {
		return "an unfinished line"
	}
	lines = lines[:len(lines)-1]
	if len(lines) == 0 || !strings.HasPrefix(lines[len(lines)-1], "error: ") {
		return "no error at the end"
	}
	for _, line := range lines {
		switch {
		case strings.HasPrefix(line, "error: "), strings.HasPrefix(line, "watching "), strings.HasPrefix(line, "waiting for "), isLogLine(line):
		default:
			return fmt.Sprintf("noise (%q)", line)
		}
		if strings.ContainsFunc(line[:len(line)-1], func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return "a control character"
		}
	}
	return secretIn(stderr)
}

// isLogLine reports whether a line belongs to the container logs that a failed wait prints.
func isLogLine(line string) bool {
	return strings.HasPrefix(line, "the last lines of ") || strings.HasPrefix(line, "lines of ") || strings.HasPrefix(line, "  | ") || strings.HasPrefix(line, "the logs of ") ||
		strings.HasPrefix(line, "warning: the values of Secret ") || strings.HasPrefix(line, "there is no Secret ")
}

// secretIn names the secret of the kubeconfig or of the scripts that text contains. It returns "" if there is none.
func secretIn(text string) string {
	config, err := clientcmd.LoadFromFile(testbed.Kubeconfig)
	if err != nil {
		return err.Error()
	}
	for name, user := range config.AuthInfos {
		if user.Token != "" && strings.Contains(text, user.Token) {
			return "the token of " + name
		}
	}
	if strings.Contains(text, "hunter2") { // the password in the scripts
		return "a password"
	}
	return ""
}
