package main

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// dwatch is the program under test, run as a child.
type dwatch struct {
	name   string
	binary string
	args   []string
	env    []string
	// sites are the clusters that it watches. Each run has a path of its own at each proxy.
	sites []*site
	dir   string // for its kubeconfigs
	// receiver is where it delivers to; nil: it prints.
	receiver *receiver
	// said is the file with all that it wrote to stderr.
	said string
	// records are what it has printed of each site, by name.
	records map[string]*record

	// revivable: it may be killed, and is revived.
	revivable bool
	others    []*dwatch // which replicas or shards of it there are besides
	disk      *disk     // of its state

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

// all are its replicas, or shards: itself, and the others.
func (d *dwatch) all() []*dwatch { return append([]*dwatch{d}, d.others...) }

// start starts the program, or starts it again.
func (d *dwatch) start() error {
	args, err := d.argsOf(d.run())
	if err != nil {
		return err
	}
	stderr, err := os.OpenFile(d.said, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer stderr.Close() // the child has its own descriptor
	child := exec.Command(d.binary, args...)
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

// run names the run that is to begin; processOf tells whose it is.
func (d *dwatch) run() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return fmt.Sprintf("%s-%d", d.name, d.runs+1)
}

// processOf is the name of the process whose run it is.
func processOf(run string) string { return run[:max(0, strings.LastIndex(run, "-"))] }

func (d *dwatch) argsOf(run string) ([]string, error) {
	path, err := kubeconfig(d.dir, run, d.sites)
	args := append(slices.Clone(d.args), "--kubeconfig", path)
	if d.receiver != nil {
		args = slices.Concat([]string{"send"}, args, []string{"--to", d.receiver.url(run)})
	}
	return args, err
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
		if l, r, err := d.read(text); r != nil {
			r.take(d.name, text, l, err)
		}
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

// receive takes a message that its receiver has got from one of its runs.
func (d *dwatch) receive(run, id string, body []byte) {
	if l, r, err := d.read(body); r != nil {
		r.receive(run, id, body, l, err)
	}
}

// read reads a line, and returns the record that it belongs to; nil if it is of no cluster
// that is watched, which is noted.
func (d *dwatch) read(text []byte) (*line, *record, error) {
	l, err := parseLine(text)
	r := d.records[l.Cluster]
	if r == nil {
		d.note(disordered, "of which cluster is it? %v: %.200q", err, text)
	}
	return l, r, err
}

// note notes what is wrong with all that it prints.
func (d *dwatch) note(f fail, format string, args ...any) {
	for _, r := range d.records {
		r.note(f, format, args...)
	}
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
	for _, r := range d.records {
		r.killed(d.name, since) // before the next run prints
	}
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

// maxWords is how much is shown of what a process has said.
const maxWords = 16 << 10

// lastWords are the last lines of its stderr, and of each of its replicas or shards; where the race
// detector has found something, that comes first.
func (d *dwatch) lastWords() string {
	var all strings.Builder
	for _, one := range d.all() {
		fmt.Fprintf(&all, "%s said at the end:\n%s\n", one.name, one.words())
	}
	return all.String()
}

func (d *dwatch) words() string {
	text, err := os.ReadFile(d.said)
	if err != nil {
		return err.Error()
	}
	end := string(text[max(0, len(text)-maxWords):])
	if race := bytes.Index(text, []byte("WARNING: DATA RACE")); race >= 0 {
		return string(text[race:min(len(text), race+maxWords)]) + "\n...\n" + end
	}
	return end
}

// kubeconfig writes the kubeconfig of a run: a context for each site, which leads through its
// proxy, with a credential plugin that reads the present token.
func kubeconfig(dir, run string, sites []*site) (string, error) {
	config := api.NewConfig()
	for _, s := range sites {
		name := cmp.Or(s.name, "chaos")
		config.CurrentContext = name
		config.Contexts[name] = &api.Context{Cluster: name, AuthInfo: name}
		config.Clusters[name] = &api.Cluster{Server: s.proxy.url() + "/" + run, CertificateAuthorityData: s.proxy.ca}
		config.AuthInfos[name] = &api.AuthInfo{Exec: &api.ExecConfig{
			APIVersion: "client.authentication.k8s.io/v1", Command: "cat", Args: []string{s.proxy.tokens.path},
			InteractiveMode: api.NeverExecInteractiveMode,
		}}
	}
	path := filepath.Join(dir, run+".kubeconfig")
	return path, clientcmd.WriteToFile(*config, path)
}
