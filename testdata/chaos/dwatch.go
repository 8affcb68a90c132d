package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"
)

// dwatch is the program under test, run as a child.
type dwatch struct {
	name   string
	binary string
	args   []string
	env    []string
	// server is the URL of the proxy. Each run has a path of its own there.
	server string
	// receiver is where it delivers to; nil: it prints.
	receiver *receiver
	// said is the file with all that it wrote to stderr.
	said string
	*record

	// revivable: it may be killed, and is revived.
	revivable bool
	disk      *disk // of its state

	// reading is held while a line is taken: who locks it is a reader that stalls.
	reading sync.Mutex

	mu      sync.Mutex
	child   *exec.Cmd
	ended   chan struct{} // closed when the child has ended and was waited for
	err     error         // of the child, once ended is closed
	stopped bool          // it was told to end
	dying   bool          // it is being killed
	runs    int
}

// endWithin is how long the end after a signal may take.
const endWithin = 10 * time.Second

// start starts the program, or starts it again.
func (d *dwatch) start() error {
	stderr, err := os.OpenFile(d.said, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer stderr.Close() // the child has its own descriptor
	child := exec.Command(d.binary, d.argsOf(d.run())...)
	child.Env = append(os.Environ(), d.env...)
	child.Stderr = stderr
	stdout, err := child.StdoutPipe()
	if err != nil {
		return err
	}
	if err := child.Start(); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.child, d.ended = child, make(chan struct{})
	d.runs++
	go d.follow(child, stdout, d.ended)
	return nil
}

// run names the run that is to begin.
func (d *dwatch) run() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return fmt.Sprintf("%s-%d", d.name, d.runs+1)
}

func (d *dwatch) argsOf(run string) []string {
	args := append(slices.Clone(d.args), "--server", d.server+"/"+run)
	if d.receiver != nil {
		args = slices.Concat([]string{"send"}, args, []string{"--to", d.receiver.url(run)})
	}
	return args
}

// follow takes each line, to the end of the child.
func (d *dwatch) follow(child *exec.Cmd, stdout io.Reader, ended chan struct{}) {
	lines := bufio.NewReaderSize(stdout, 1<<20)
	for {
		text, err := lines.ReadBytes('\n')
		if err != nil {
			break // half a line is none: it was killed
		}
		d.reading.Lock()
		d.take(text)
		d.reading.Unlock()
	}
	err := child.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.err = err
	if !d.stopped && !d.mayEnd(child) {
		d.note(lost, "dwatch ended by itself: %v", err)
	}
	close(ended)
}

// mayEnd tells whether the end of the child is one that it may come to: by a kill,
// or because of a fault at its start.
func (d *dwatch) mayEnd(child *exec.Cmd) bool {
	const failed, usage = 1, 2 // exit codes; the second if the resource is not there
	status, _ := child.ProcessState.Sys().(syscall.WaitStatus)
	killed := status.Signaled() && status.Signal() == syscall.SIGKILL
	return d.revivable && (killed || status.ExitStatus() == failed || status.ExitStatus() == usage)
}

// kill ends it as a crash would. What it printed in the last moments may be
// repeated by the next run.
func (d *dwatch) kill() {
	d.mu.Lock()
	child, ended := d.child, d.ended
	d.dying = true
	d.mu.Unlock()
	since := time.Now().Add(-d.disk.behind())
	child.Process.Kill()
	<-ended
	d.killed(since) // before the next run prints
	d.mu.Lock()
	d.dying = false
	d.mu.Unlock()
}

// revive starts it again if it has ended without having been told to.
func (d *dwatch) revive() error {
	d.mu.Lock()
	ended, leave := d.ended, d.stopped || d.dying
	d.mu.Unlock()
	if leave {
		return nil
	}
	select {
	case <-ended:
		return d.start()
	default:
		return nil
	}
}

// stop ends the program as a person would. It must end well, and soon.
func (d *dwatch) stop() error {
	d.mu.Lock()
	d.stopped = true
	child, ended := d.child, d.ended
	d.mu.Unlock()
	if child == nil {
		return nil
	}
	child.Process.Signal(os.Interrupt)
	select {
	case <-ended:
	case <-time.After(endWithin):
		child.Process.Signal(syscall.SIGQUIT) // it says what its goroutines do
		<-ended
		return fmt.Errorf("%s does not end", d.name)
	}
	if d.err != nil {
		return fmt.Errorf("%s ended with %w", d.name, d.err)
	}
	return nil
}

// lastWords are the last lines of stderr.
func (d *dwatch) lastWords() string {
	text, err := os.ReadFile(d.said)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-16<<10):])
}

// kubeconfig writes a kubeconfig that leads through the proxy, with a credential
// plugin that reads the present token.
func kubeconfig(dir string, p *proxy) (string, error) {
	ca, path := filepath.Join(dir, "ca.pem"), filepath.Join(dir, "kubeconfig")
	return path, errors.Join(os.WriteFile(ca, p.ca, 0o600), os.WriteFile(path, fmt.Appendf(nil, `apiVersion: v1
kind: Config
current-context: chaos
contexts: [{name: chaos, context: {cluster: chaos, user: chaos}}]
clusters: [{name: chaos, cluster: {server: %q, certificate-authority: %q}}]
users:
- name: chaos
  user:
    exec: {apiVersion: client.authentication.k8s.io/v1, command: cat, args: [%q], interactiveMode: Never}
`, p.url(), ca, p.tokens.path), 0o600))
}
