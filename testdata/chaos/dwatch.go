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

// dwatch is the program under test, run as a child process.
type dwatch struct {
	name   string
	binary string
	args   []string
	env    []string
	// sites are the clusters that it watches. Each run has its own path prefix at each proxy.
	sites []*site
	dir   string // for its kubeconfigs
	// receiver is its receiver. If nil, it prints to stdout.
	receiver *receiver
	// said is the path of the file with its stderr, of all runs.
	said string
	// records has the record of each site by the name of the site.
	records map[string]*record

	// revivable reports that it may be killed and is restarted.
	revivable bool
	others    []*dwatch // the other replicas or shards; empty in these
	disk      *disk     // measures the disk of its state file

	// reading is held while a line is read. A fault locks it to simulate a stalled reader.
	reading sync.Mutex

	mu      sync.Mutex
	child   *exec.Cmd
	ended   chan struct{} // closed when the child has ended and was waited for
	err     error         // result of the child, once ended is closed
	stopped bool          // stop was called
	dying   bool          // kill is running
	runs    int
}

// endWithin is how long dwatch may take to exit after a signal.
const endWithin = 10 * time.Second

// all returns all its replicas or shards, including itself.
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

// run returns the name of the next run. processOf is the reverse.
func (d *dwatch) run() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return fmt.Sprintf("%s-%d", d.name, d.runs+1)
}

// processOf returns the name of the process of a run.
func processOf(run string) string { return run[:max(0, strings.LastIndex(run, "-"))] }

func (d *dwatch) argsOf(run string) ([]string, error) {
	path, err := kubeconfig(d.dir, run, d.sites)
	args := append(slices.Clone(d.args), "--kubeconfig", path)
	if d.receiver != nil {
		args = slices.Concat([]string{"send"}, args, []string{"--to", d.receiver.url(run)})
	}
	return args, err
}

// follow reads the lines of the child until it exits.
func (d *dwatch) follow(child *exec.Cmd, stdout io.Reader, ended chan struct{}) {
	lines := bufio.NewReaderSize(stdout, 1<<20)
	for {
		text, err := lines.ReadBytes('\n')
		if err != nil {
			break // ignore an incomplete last line of a killed process
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

// receive adds a message of one of its runs to the record. Its receiver calls it.
func (d *dwatch) receive(run, id string, body []byte) {
	if l, r, err := d.read(body); r != nil {
		r.receive(run, id, body, l, err)
	}
}

// read parses a line and returns its record. If the line is of an unknown cluster, the record is nil, and read notes a
// problem.
func (d *dwatch) read(text []byte) (*line, *record, error) {
	l, err := parseLine(text)
	r := d.records[l.Cluster]
	if r == nil {
		d.note(disordered, "line of an unknown cluster: %v: %.200q", err, text)
	}
	return l, r, err
}

// note adds a problem to all its records.
func (d *dwatch) note(f fail, format string, args ...any) {
	for _, r := range d.records {
		r.note(f, format, args...)
	}
}

// mayEnd reports whether the child may have exited like this: it was killed, or it met a fault at its start.
func (d *dwatch) mayEnd(child *exec.Cmd) bool {
	const failed, usage = 1, 2 // exit codes; usage if the server does not serve the resource
	status, _ := child.ProcessState.Sys().(syscall.WaitStatus)
	killed := status.Signaled() && status.Signal() == syscall.SIGKILL
	return d.revivable && (killed || status.ExitStatus() == failed || status.ExitStatus() == usage)
}

// kill kills the child with SIGKILL. The next run may repeat the last lines.
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

// revive restarts it if it has exited, unless stop was called or kill is running.
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

// stop sends SIGINT, as Ctrl-C does. It returns an error if the program fails or takes longer than endWithin.
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
		child.Process.Signal(syscall.SIGQUIT) // prints the stacks of its goroutines
		<-ended
		return fmt.Errorf("%s does not end", d.name)
	}
	if d.err != nil {
		return fmt.Errorf("%s ended with %w", d.name, d.err)
	}
	return nil
}

// maxWords limits how much of the stderr of a process is shown, in bytes.
const maxWords = 16 << 10

// lastWords returns the end of its stderr and of that of its other replicas or shards. A report of the race detector comes
// first.
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

// kubeconfig writes the kubeconfig of a run. It has a context for each site, with the address of its proxy and a
// credential plugin that prints the current token.
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
