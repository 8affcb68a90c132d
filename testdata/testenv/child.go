package testenv

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// child is a test server that runs as a child process. It cannot outlive the test binary.
type child struct {
	// Address is the server's HOST:PORT. It stays the same after a restart.
	Address string

	process *exec.Cmd
	stdin   io.Writer
	lines   chan string // printed after the first one
	ended   chan struct{}
	log     tail
}

// run starts a program and returns when it has printed its first line. addressOf extracts HOST:PORT from that line.
func (c *child) run(name, variable string, args []string, addressOf func(line string) string) error {
	binary, err := find(name, variable)
	if err != nil {
		return err
	}
	c.process = exec.Command(binary, args...)
	if c.stdin, err = c.process.StdinPipe(); err != nil { // held open until the child has ended
		return err
	}
	stdout, err := c.process.StdoutPipe()
	if err != nil {
		return err
	}
	c.process.Stderr = &c.log
	if err := c.process.Start(); err != nil {
		return fmt.Errorf("start the %s server: %w", name, err)
	}
	c.ended, c.lines = make(chan struct{}), make(chan string, 16)
	go func() {
		defer close(c.ended)
		defer c.process.Wait() // run reports it, or Kill asked for it
		defer close(c.lines)
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			select {
			case c.lines <- strings.TrimSpace(lines.Text()):
			default: // the buffer is full, and no test reads that many lines
			}
		}
	}()
	select {
	case line := <-c.lines:
		if c.Address = addressOf(line); c.Address == "" {
			c.Kill()
			return fmt.Errorf("the %s server did not start: %q\n%s", name, line, &c.log)
		}
		return nil
	case <-time.After(startWithin):
		c.Kill()
		return fmt.Errorf("the %s server was not ready within %v\n%s", name, startWithin, &c.log)
	}
}

// Kill ends the server as a crash would, and returns when it has ended.
func (c *child) Kill() {
	c.process.Process.Kill()
	<-c.ended
}

// tail is a writer that retains the last bytes. It is safe for concurrent use.
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
