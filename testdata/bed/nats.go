package bed

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/url"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// NATS is a NATS server: the program of testdata/nats, as a child process that can't
// outlive the test binary.
type NATS struct {
	// Address is its HOST:PORT, also after it was started again.
	Address string

	flags []string
	child *exec.Cmd
	ended chan struct{}
	log   tail
}

// StartNATS starts one on a port of its own, and returns when it is ready. dir is where
// JetStream stores, empty: there is none; and flags are those of nats-server. The caller
// must call Kill.
func StartNATS(dir string, flags ...string) (*NATS, error) {
	n := &NATS{flags: flags}
	if dir != "" {
		n.flags = append([]string{"--store_dir", dir}, flags...)
	}
	return n, n.start("-1")
}

// Restart starts it again after Kill, on the same port, with what it has stored.
func (n *NATS) Restart() error {
	_, port, _ := strings.Cut(n.Address, ":")
	return n.start(port)
}

func (n *NATS) start(port string) error {
	binary, err := find("nats", "DWATCH_NATS")
	if err != nil {
		return err
	}
	n.child = exec.Command(binary, append([]string{"--addr", "127.0.0.1", "--port", port}, n.flags...)...)
	if _, err := n.child.StdinPipe(); err != nil { // held open until the child has ended
		return err
	}
	stdout, err := n.child.StdoutPipe()
	if err != nil {
		return err
	}
	n.child.Stderr = &n.log
	if err := n.child.Start(); err != nil {
		return fmt.Errorf("start the NATS server: %w", err)
	}
	n.ended = make(chan struct{})
	ready := make(chan string, 1)
	go func() {
		defer close(n.ended)
		defer n.child.Wait() // start reports it, or Kill asked for it
		line, _ := bufio.NewReader(stdout).ReadString('\n')
		ready <- strings.TrimSpace(line)
		io.Copy(io.Discard, stdout)
	}()
	select {
	case line := <-ready:
		address, err := url.Parse(line)
		if err != nil || address.Host == "" {
			n.Kill()
			return fmt.Errorf("the NATS server did not start: %q\n%s", line, &n.log)
		}
		n.Address = address.Host
		return nil
	case <-time.After(startWithin):
		n.Kill()
		return fmt.Errorf("the NATS server was not ready within %v\n%s", startWithin, &n.log)
	}
}

// Kill ends it as a crash would, and returns when it has ended.
func (n *NATS) Kill() {
	n.child.Process.Kill()
	<-n.ended
}

// tail keeps the end of what is written. It is safe to read meanwhile.
type tail struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.text.Len() > 1<<16 {
		t.text.Reset()
	}
	return t.text.Write(p)
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}
