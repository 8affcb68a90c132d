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

// child is a server of tests as a child process, which can't outlive the test binary.
type child struct {
	// Address is its HOST:PORT, also after it was started again.
	Address string

	process *exec.Cmd
	stdin   io.Writer
	lines   chan string // that it prints after the first
	ended   chan struct{}
	log     tail
}

// run starts a program, and returns when it is ready: its first line says where it is, and addressOf what of that is HOST:PORT.
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
			default: // nobody reads so much
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

// Kill ends it as a crash would, and returns when it has ended.
func (c *child) Kill() {
	c.process.Process.Kill()
	<-c.ended
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
