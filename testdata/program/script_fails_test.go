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

// soon is how long dwatch may take to say that it can't start. It is much more
// than that needs, for slow machines and the race detector.
const soon = 20 * time.Second

// fails runs a command that must fail soon, with this exit code, and say why as
// the contract has it: nothing on stdout, and on stderr errors in one line each,
// after what was said before.
func fails(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: fails CODE CMD [ARG...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	p, got := runToEnd(ts, args[1:])
	for range 4 {
		if !knewNothing.MatchString(p.stderr.String()) {
			break
		}
		ts.Logf("once more, as it knew nothing yet:\n%s", p.stderr.String())
		p, got = runToEnd(ts, args[1:])
	}
	fmt.Fprint(ts.Stderr(), p.stderr.String())
	ts.Logf("exit code %d\nstderr:\n%s", got, p.stderr.String())
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
	if out := p.stdout.String(); out != "" {
		ts.Fatalf("it wrote to stdout:\n%s", out)
	}
	if wrong := misspoken(p.stderr.String()); wrong != "" {
		ts.Fatalf("%s in stderr:\n%s", wrong, p.stderr.String())
	}
}

// knewNothing: the timeout passed before dwatch had learned what is there, as on a machine that has much
// to do.
var knewNothing = regexp.MustCompile(`what exists is not known yet|the server had not answered`)

// runToEnd runs a command that must end soon.
func runToEnd(ts *testscript.TestScript, args []string) (*program, int) {
	p, err := newProgram(ts, args)
	ts.Check(err)
	started := time.Now()
	code, ok := p.wait()
	if !ok {
		p.kill()
		ts.Fatalf("it does not end\nstderr:\n%s", p.stderr.String())
	}
	if took := time.Since(started); took > soon {
		ts.Fatalf("it took %v", took)
	}
	return p, code
}

// misspoken says what is wrong with the stderr of a failed run; empty if it is
// in order.
func misspoken(stderr string) string {
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
		case strings.HasPrefix(line, "error: "), strings.HasPrefix(line, "watching "), strings.HasPrefix(line, "waiting for "), isOfLogs(line):
		default:
			return fmt.Sprintf("noise (%q)", line)
		}
		if strings.ContainsFunc(line[:len(line)-1], func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return "a control character"
		}
	}
	return secretIn(stderr)
}

// isOfLogs: the line is what a wait that fails says of the logs of a container.
func isOfLogs(line string) bool {
	return strings.HasPrefix(line, "the last lines of ") || strings.HasPrefix(line, "lines of ") || strings.HasPrefix(line, "  | ") || strings.HasPrefix(line, "the logs of ") ||
		strings.HasPrefix(line, "warning: the values of Secret ") || strings.HasPrefix(line, "there is no Secret ")
}

// secretIn says if text has something that only the kubeconfig may hold.
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
	if strings.Contains(text, "hunter2") { // the password of the scripts
		return "a password"
	}
	return ""
}
