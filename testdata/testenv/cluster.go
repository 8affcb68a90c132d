// Package testenv gives tests a real Kubernetes API server, and other servers. The API server is the program in
// testdata/cluster, which runs as a child process.
//
// The child cannot outlive the test binary. It ends when its standard input closes, and only the test binary has the
// other end of that pipe. This also covers a panic, a test timeout and kill -9.
package testenv

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	startWithin = 2 * time.Minute
	stopWithin  = 30 * time.Second
)

// Cluster is a running API server.
type Cluster struct {
	// Kubeconfig is the path of a kubeconfig for the server. Its contexts are "admin", which is current, and "limited".
	Kubeconfig string

	binary string
	dir    string
	child  *exec.Cmd
	ended  chan struct{} // closed after the child's exit status was collected
}

// StartCluster starts a cluster and returns when its API server is ready. flags, for example "--controllers", are
// passed to the program and override the flags that StartCluster sets. Unless flags say otherwise, data and kubeconfig
// are in a directory that Stop and Kill remove. The caller must call one of the two.
func StartCluster(flags ...string) (*Cluster, error) {
	binary, err := find("cluster", "DWATCH_CLUSTER")
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "dwatch-bed-")
	if err != nil {
		return nil, err
	}
	c := &Cluster{binary: binary, dir: dir, ended: make(chan struct{})}
	if err := c.start(flags); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return c, nil
}

func (c *Cluster) start(flags []string) error {
	c.child = exec.Command(c.binary, append([]string{
		"--kubeconfig", filepath.Join(c.dir, "kubeconfig"),
		"--stop-on-stdin-close",
	}, flags...)...)
	// The child removes its temporary data. If it is killed, they are removed with this directory.
	c.child.Env = append(os.Environ(), "TMPDIR="+c.dir)
	if _, err := c.child.StdinPipe(); err != nil { // held open until the child has ended
		return err
	}
	stdout, err := c.child.StdoutPipe()
	if err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(c.dir, "log"))
	if err != nil {
		return err
	}
	defer log.Close() // the child has its own descriptor
	c.child.Stderr = log
	if err := c.child.Start(); err != nil {
		return fmt.Errorf("start the test cluster: %w", err)
	}
	ready := make(chan string, 1)
	go c.follow(stdout, ready)
	return c.await(ready)
}

// follow sends the path from the line that reports readiness. It then reads until the child ends, so that the child
// never blocks on its output.
func (c *Cluster) follow(stdout io.Reader, ready chan<- string) {
	defer close(c.ended)
	defer c.child.Wait() // the caller requested the end, or await reports the failure
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		if path, ok := strings.CutPrefix(lines.Text(), "export KUBECONFIG="); ok {
			ready <- path
			break
		}
	}
	io.Copy(io.Discard, stdout)
}

func (c *Cluster) await(ready <-chan string) error {
	select {
	case c.Kubeconfig = <-ready:
		return nil
	case <-c.ended:
		return fmt.Errorf("the test cluster ended at its start: %v\n%s", c.child.ProcessState, c.logTail())
	case <-time.After(startWithin):
		c.child.Process.Kill()
		<-c.ended
		return fmt.Errorf("the test cluster was not ready within %v\n%s", startWithin, c.logTail())
	}
}

// Stop ends the cluster with SIGTERM and returns when it has ended. If that takes longer than 30 seconds, Stop kills
// it and returns an error.
func (c *Cluster) Stop() error {
	defer os.RemoveAll(c.dir)
	c.child.Process.Signal(syscall.SIGTERM)
	select {
	case <-c.ended:
		return nil
	case <-time.After(stopWithin):
		c.child.Process.Kill()
		<-c.ended
		return fmt.Errorf("the test cluster did not stop within %v\n%s", stopWithin, c.logTail())
	}
}

// Kill ends the cluster as a crash would, and returns when it has ended.
func (c *Cluster) Kill() {
	defer os.RemoveAll(c.dir)
	c.child.Process.Kill()
	<-c.ended
}

func (c *Cluster) logTail() string {
	log, _ := os.ReadFile(filepath.Join(c.dir, "log")) // best effort: the log only explains another error
	return string(log[max(0, len(log)-4096):])
}
