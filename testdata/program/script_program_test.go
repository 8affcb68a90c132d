package program

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"dwatch/testdata/stderrlog"
)

var signals = map[string]os.Signal{"SIGINT": os.Interrupt, "SIGTERM": syscall.SIGTERM, "SIGKILL": os.Kill}

// program is a command that runs in the background of a script.
type program struct {
	cmd            *exec.Cmd
	stdout, stderr transcript
	ended          chan struct{}
}

func newProgram(ts *testscript.TestScript, argv []string) (*program, error) {
	path, err := exec.LookPath(binaries + "/" + argv[0])
	if err != nil {
		path = argv[0]
	}
	p := &program{cmd: exec.Command(path, argv[1:]...), ended: make(chan struct{})}
	p.cmd.Dir = ts.Getenv("PWD")
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "PATH", "KUBECONFIG", "NS", "GORACE", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "DWATCH_TO_TOKEN", "DWATCH_TO_HEADERS", "DWATCH_TO_SIGNING_SECRET", "DWATCH_KAFKA_LOGIN"} {
		p.cmd.Env = append(p.cmd.Env, name+"="+ts.Getenv(name))
	}
	p.cmd.Dir = ts.MkAbs(".")
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	p.stderr.stripTimes = true
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		p.cmd.Wait() // wait returns its exit code
		close(p.ended)
	}()
	return p, nil
}

// wait returns the exit code, or false if the program does not end.
func (p *program) wait() (int, bool) {
	select {
	case <-p.ended:
		return p.cmd.ProcessState.ExitCode(), true
	case <-time.After(patience):
		return 0, false
	}
}

func (p *program) kill() {
	if err := p.cmd.Process.Kill(); !errors.Is(err, os.ErrProcessDone) {
		<-p.ended
	}
}

// transcript is the output of a program so far. The zero value is empty.
type transcript struct {
	stripTimes bool // true for stderr: times are removed
	mu         sync.Mutex
	text       bytes.Buffer
	changed    chan struct{} // closed and replaced at each write
}

func (t *transcript) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.changed != nil {
		close(t.changed)
		t.changed = nil
	}
	return t.text.Write(p)
}

func (t *transcript) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.read()
}

func (t *transcript) read() string {
	if t.stripTimes {
		return stderrlog.StripTimes(t.text.String())
	}
	return t.text.String()
}

// look returns the output so far, and a channel that is closed when there is more.
func (t *transcript) look() (string, <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.changed == nil {
		t.changed = make(chan struct{})
	}
	return t.read(), t.changed
}

// await reports whether pattern matches n times before the program ends.
func (t *transcript) await(pattern *regexp.Regexp, n int, ended <-chan struct{}) bool {
	deadline := time.After(patience)
	for {
		text, more := t.look()
		if len(pattern.FindAllStringIndex(text, n)) >= n {
			return true
		}
		select {
		case <-more:
		case <-ended:
			return len(pattern.FindAllStringIndex(t.String(), n)) >= n
		case <-deadline:
			return false
		}
	}
}
