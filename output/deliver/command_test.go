//go:build unix

package deliver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"dwatch/watcher/event"
)

// script returns a Command that runs a shell script, and its output.
func script(t *testing.T, text string) (*Command, *transcript) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "hook.sh")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	c, err := NewCommand([]string{path, "an arg"})
	if err != nil {
		t.Fatal(err)
	}
	out := &transcript{}
	c.Output = out
	return c, out
}

// transcript collects the written text.
type transcript struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (p *transcript) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(text)
}

func (p *transcript) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

// TestCommand checks the input and environment of a program, and the handling of its output.
func TestCommand(t *testing.T) {
	t.Setenv("DWATCH_NAMESPACE", "from outside")
	c, out := script(t, `cat; echo "$1" >&2; env | grep ^DWATCH_ | sort; printf 'a\033[2Jb\tc\r\nrest'`)
	if err := c.Send(t.Context(), message("a\x00b\n")); err != nil {
		t.Fatal(err)
	}
	want := []string{
		`{"type":"MODIFIED"}`, "an arg",
		"DWATCH_ID=uid-a\\u0000b\\u000a/7/MODIFIED", "DWATCH_KIND=ConfigMap", "DWATCH_NAME=a\\u0000b\\u000a",
		"DWATCH_NAMESPACE=default", "DWATCH_RESOURCE_VERSION=7", "DWATCH_TYPE=MODIFIED", "DWATCH_UID=uid-a\\u0000b\\u000a",
		"a\\u001b[2Jb    c", "rest",
	}
	if diff := cmp.Diff("cm/a\x00b\n: "+strings.Join(want, "\ncm/a\x00b\n: ")+"\n", out.String()); diff != "" {
		t.Error(diff)
	}
}

// TestCommandFails checks the errors of programs that fail.
func TestCommandFails(t *testing.T) {
	for text, want := range map[string]string{
		"exit 3":                "exit status 3",
		"kill -9 $$":            "signal: killed",
		"exit 0":                "<nil>",
		"exec 0<&-; exit 0":     "<nil>", // without reading
		"sleep 1000 & exit 0":   "<nil>", // a child process keeps the output open
		"sleep 1000 & exit 1":   "exit status 1",
		"sleep 1000; exit 0 # ": "killed after 300ms (--deadline)",
	} {
		c, _ := script(t, text+"\n")
		ctx := within(t, time.Minute)
		if strings.HasSuffix(want, "(--deadline)") {
			ctx = within(t, 300*time.Millisecond)
		}
		m := message("a")
		m.Body = bytes.Repeat([]byte("x"), 1<<20) // more than a pipe holds
		if got := fmt.Sprint(c.Send(ctx, m)); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

// TestCommandChildren checks that child processes are killed with the program, at the deadline and when the run is cancelled.
func TestCommandChildren(t *testing.T) {
	for _, atEnd := range []bool{false, true} {
		fifo := filepath.Join(t.TempDir(), "fifo")
		if err := syscall.Mkfifo(fifo, 0o600); err != nil {
			t.Fatal(err)
		}
		c, _ := script(t, `(echo started; exec sleep 1000) > `+fifo+` & wait`)
		limit := time.Second
		if atEnd {
			limit = 0
		}
		ctx, cancel := context.WithCancel(within(t, limit))
		done := make(chan error, 1)
		go func() { done <- c.Send(ctx, message("a")) }()
		file, err := os.Open(fifo)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.Read(make([]byte, 8)); err != nil {
			t.Fatal(err)
		}
		if atEnd {
			cancel()
		}
		if _, err := io.ReadAll(file); err != nil { // returns once no process has it open
			t.Error(err)
		}
		if err := <-done; err == nil {
			t.Error("the message was delivered")
		}
		file.Close()
		cancel()
	}
}

// TestNotStarted checks that a program that exists but can't be started causes a DownError.
func TestNotStarted(t *testing.T) {
	c, _ := script(t, "")
	for text, want := range map[string]string{
		"no script":              "not started: exec format error: a script begins with a line such as #!/bin/sh",
		"#!/no/such/interpreter": "not started: no such file or directory: it is gone, or the program in its #! line does not exist",
	} {
		if err := os.WriteFile(c.Path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		err := c.Send(t.Context(), message("a"))
		if _, ok := errors.AsType[*DownError](err); !ok || err.Error() != want {
			t.Errorf("%s: got %v, want a DownError %s", text, err, want)
		}
	}
}

func TestNewCommand(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("plain", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"sh":             "<nil>",
		"plain":          "plain is not in $PATH: to run the one in this directory, use ./plain",
		"./plain":        "./plain can't be run: it is not executable; use 'chmod +x'",
		"no\x1b-such":    `no\u001b-such can't be run: no such program in $PATH`,
		"./no-such":      "./no-such can't be run: no such file or directory",
		"./plain/nested": "./plain/nested can't be run: not a directory",
		".":              ". can't be run: no such program in $PATH",
	} {
		if _, err := NewCommand([]string{name}); fmt.Sprint(err) != want {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
	}
}

// TestLongLines checks that an endless line is split and does not fill the memory.
func TestLongLines(t *testing.T) {
	c := &Command{Output: &transcript{}}
	_, p := c.prepare(t.Context(), "cm/a")
	text := strings.Repeat("x", 3*longestLine) + "\n\nshort\n"
	for chunk := range slices.Chunk([]byte(text), 1000) {
		p.Write(chunk)
		if len(p.rest) > longestLine {
			t.Fatalf("%d bytes are buffered, want at most %d", len(p.rest), longestLine)
		}
	}
	p.end()
	lines := strings.Split(c.Output.(*transcript).String(), "\n")
	if got := strings.ReplaceAll(strings.Join(lines, ""), "cm/a: ", ""); got != strings.ReplaceAll(text, "\n", "") {
		t.Errorf("got %d of %d bytes of output", len(got), len(text))
	}
}

// TestChaos runs programs that fail, hang and are killed, and some that fail after their work is done. In the end, each event was
// delivered, in the order of its object.
func TestChaos(t *testing.T) {
	const objects, versions = 6, 5
	dir := t.TempDir()
	// The first attempts of each message fail, each in another way.
	c, _ := script(t, `
id=$DWATCH_NAME-$DWATCH_RESOURCE_VERSION
echo >> `+dir+`/$id
tries=$(wc -l < `+dir+`/$id)
case $(( ($tries + $DWATCH_RESOURCE_VERSION + $DWATCH_NAME) % 5 )) in
0) exit 1 ;;
1) sleep 1000 ;;
2) kill -9 $$ ;;
3) cat >/dev/null ;;
4) echo $DWATCH_NAME $DWATCH_RESOURCE_VERSION >> `+dir+`/got; exit 1 ;;
esac
echo $DWATCH_NAME $DWATCH_RESOURCE_VERSION >> `+dir+`/got
`)
	q := New(c, Options{
		Name: "hook", Workers: 4, Deadline: 200 * time.Millisecond, MaxBackoff: 20 * time.Millisecond,
		Encode:  func(dst []byte, _ event.Event) ([]byte, error) { return append(dst, "{}\n"...), nil },
		Subject: func(event.Event) string { return "cm" },
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		q.Run(t.Context())
	}()
	for v := range versions {
		for o := range objects {
			if err := q.Deliver(t.Context(), []event.Event{of(fmt.Sprint(o), v+1)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	q.Drain()
	<-done
	if text, left := q.Summary(); left != 0 {
		t.Errorf("%d messages were not delivered: %s", left, text)
	}
	inOrder(t, filepath.Join(dir, "got"), objects, versions)
}

// inOrder checks that programs have written the versions of each object in order. A version may occur several times in a row.
func inOrder(t *testing.T, path string, objects, versions int) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	last := map[string]int{}
	for line := range strings.Lines(string(text)) {
		var name string
		var version int
		fmt.Sscan(line, &name, &version)
		if version != last[name] && version != last[name]+1 {
			t.Errorf("%s: version %d follows %d", name, version, last[name])
		}
		last[name] = version
	}
	for o := range objects {
		if last[fmt.Sprint(o)] != versions {
			t.Errorf("object %d ends with version %d, want %d", o, last[fmt.Sprint(o)], versions)
		}
	}
}
