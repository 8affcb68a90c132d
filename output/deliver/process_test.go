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
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"dwatch/watcher/event"
)

// takeID defines a function next for a shell script, which reads a line and sets $id and $name from it.
const takeID = `
next() { IFS= read -r line && id=${line#'{"id":"'} && id=${id%%'"'*} && name=${id#uid-} && name=${name%%/*}; }
`

// batch returns a Process that runs a shell script, its output on stderr, and the warnings of the Process.
func batch(t *testing.T, text string) (p *Process, out, said *transcript) {
	t.Helper()
	c, out := script(t, takeID+text)
	said = &transcript{}
	p = NewProcess(c, "hook", func(line string) { fmt.Fprintln(said, line) })
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		p.Shutdown(ctx)
	})
	return p, out, said
}

// sendAll sends a message for each object concurrently, and returns the errors in the order of the objects.
func sendAll(p *Process, names ...string) []string {
	errs := make([]string, len(names))
	var all sync.WaitGroup
	for i, name := range names {
		all.Go(func() { errs[i] = fmt.Sprint(p.Send(context.Background(), message(name))) })
	}
	all.Wait()
	return errs
}

// TestBatch checks that one process gets all messages, several at a time, and may acknowledge them in another order.
func TestBatch(t *testing.T) {
	p, out, said := batch(t, `
echo "$1: started" >&2
next; first=$id; echo "$line" >&2
next; second=$id
next; printf '%s\r\n%s\n' "$id" "$second"; echo $first
while next; do echo "$id"; done
echo ends >&2
`)
	if got := sendAll(p, "a", "b", "c"); !slices.Equal(got, []string{"<nil>", "<nil>", "<nil>"}) {
		t.Errorf("got results %q, want no errors", got)
	}
	if got := sendAll(p, "d", "d", "a\nb"); !slices.Equal(got, []string{"<nil>", "<nil>", "<nil>"}) {
		t.Errorf("equal and unprintable IDs: got results %q, want no errors", got)
	}
	p.Shutdown(t.Context())
	want := regexp.MustCompile(`\Ahook: an arg: started\nhook: \{"id":"uid-[abc]/7/MODIFIED","type":"MODIFIED"\}\nhook: ends\n\z`)
	if !want.MatchString(out.String()) || said.String() != "" {
		t.Errorf("got output %s and warnings %s", out, said)
	}
}

// TestBatchEnds checks that a program that ends is started again, and that its unacknowledged messages fail.
func TestBatchEnds(t *testing.T) {
	for text, want := range map[string][]string{
		"next; exit 3":              {"it ended before it acknowledged this: exit status 3", "down"},
		"next; exit 0":              {"it ended before it acknowledged this", "down"},
		"exit 0":                    {"it ended before it acknowledged this", "down"},
		"exec 0<&-; sleep 1000":     {"it no longer reads its stdin", "down"},
		"next; kill -9 $$":          {"it ended before it acknowledged this: signal: killed", "down"},
		"next; echo $id; next":      {"<nil>", "it ended before it acknowledged this", "<nil>"},
		"next; printf %s $id":       {"<nil>", "<nil>"}, // the last line has no end
		"next; echo $id; exit 1":    {"<nil>"},
		"sleep 1000 & next; exit 3": {"it ended before it acknowledged this: exit status 3", "down"},
	} {
		p, _, _ := batch(t, text+"\n")
		for i, want := range want {
			m := message("a")
			if !strings.Contains(text, "next") {
				m.Body = []byte(`{"x":"` + strings.Repeat("x", 1<<20) + `"}`) // more than a pipe holds
			}
			err := p.Send(t.Context(), m)
			if _, isDown := errors.AsType[*DownError](err); want == "down" && !isDown || want != "down" && fmt.Sprint(err) != want {
				t.Errorf("%s: message %d: got %v, want %s", text, i, err, want)
			}
		}
	}
}

// TestBatchDeadline checks that a program that exceeds the deadline of one message is killed with its child processes. Its other
// messages fail, and the next message starts it again.
func TestBatchDeadline(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	p, _, _ := batch(t, `
next; test $name = b && { echo $id; exit; }
(echo started; exec sleep 1000) > `+fifo+` & wait
`)
	done := make(chan error, 1)
	go func() { done <- p.Send(within(t, time.Second), message("a")) }()
	file, err := os.Open(fifo)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.Read(make([]byte, 8)); err != nil {
		t.Fatal(err)
	}
	beside := p.Send(within(t, time.Second), message("c")) // its own deadline is later
	if _, err := io.ReadAll(file); err != nil {            // returns once no process has it open
		t.Error(err)
	}
	// On a slow machine both deadlines may have passed, and either of them may kill the program.
	const own, other = "killed after 1s (--deadline)", "killed with another event that took too long (--deadline)"
	first, second := fmt.Sprint(<-done), fmt.Sprint(beside)
	if first != own && second != own || first != own && first != other || second != own && second != other {
		t.Errorf("got %s and %s, want %s for at least one, and otherwise %s", first, second, own, other)
	}
	if err := p.Send(t.Context(), message("b")); err != nil {
		t.Error(err)
	}
}

// TestBatchNeverReads checks that a program that does not read its stdin blocks no message for longer than the deadline, including
// messages that wait to be written.
func TestBatchNeverReads(t *testing.T) {
	p, _, _ := batch(t, "sleep 1000\n")
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			m := message("a")
			m.Body = []byte(`{"x":"` + strings.Repeat("x", 1<<20) + `"}`)
			if err := p.Send(within(t, 500*time.Millisecond), m); err == nil || !strings.HasSuffix(err.Error(), "(--deadline)") {
				t.Errorf("got %v, want an error with --deadline", err)
			}
		})
	}
	all.Wait()
}

// TestBatchGarbage checks that lines that are no expected id are ignored and reported once. An id may be written in several pieces.
func TestBatchGarbage(t *testing.T) {
	p, _, said := batch(t, `
next
printf 'ready\033\n\n'
head -c 100000 /dev/zero
printf '\nuid-a/7/MODIF'; printf 'IED\nuid-a/7/MODIFIED\n'
while next; do echo $id; done
`)
	if err := p.Send(t.Context(), message("a")); err != nil {
		t.Error(err)
	}
	if err := p.Send(t.Context(), message("b")); err != nil {
		t.Error(err)
	}
	p.Shutdown(t.Context())
	if want := `hook printed "ready\\u001b", which is not the id of an event that it has; such lines on its stdout are ignored` + "\n"; said.String() != want {
		t.Errorf("got warnings %s, want %s", said, want)
	}
	m := message("y")
	m.Body = []byte("type: ADDED\n")
	if _, isRefused := errors.AsType[*RefusedError](p.Send(t.Context(), m)); !isRefused {
		t.Error("YAML was not refused")
	}
	m = message(strings.Repeat("y", longestLine))
	if _, isRefused := errors.AsType[*RefusedError](p.Send(t.Context(), m)); !isRefused {
		t.Error("an ID that is too long for a line was not refused")
	}
}

// TestBatchFinish checks that Shutdown closes stdin and lets the program finish, and that its output and exit code are reported. A
// program that takes too long is killed.
func TestBatchFinish(t *testing.T) {
	p, out, said := batch(t, "while next; do echo $id; done; echo flushed >&2; exit 3\n")
	if err := p.Send(t.Context(), message("a")); err != nil {
		t.Fatal(err)
	}
	p.Shutdown(t.Context())
	if out.String() != "hook: flushed\n" || said.String() != "hook ended: exit status 3\n" {
		t.Errorf("got output %s and warnings %s", out, said)
	}
	p, _, _ = batch(t, "next; echo $id; sleep 1000\n")
	if err := p.Send(t.Context(), message("a")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	p.Shutdown(ctx)
	if ctx.Err() == nil {
		t.Error("Shutdown returned before its context was done")
	}
	// A message that is being sent at the end of --drain fails when the program is killed.
	p, _, _ = batch(t, "sleep 1000\n")
	if err := p.Send(ctx, message("a")); err == nil {
		t.Error("got no error for a message to a program that hangs")
	}
}

// TestBatchChaos runs a program that ends, is killed, hangs and prints garbage. In the end each event was acknowledged, in the order of
// its object.
func TestBatchChaos(t *testing.T) {
	const objects, versions = 6, 5
	dir := t.TempDir()
	p, _, _ := batch(t, `
n=$(wc -l < `+dir+`/runs 2>/dev/null || echo 0); echo >> `+dir+`/runs
test $n -lt 12 || n=5
i=0
while next; do
  i=$((i+1))
  version=${id#*/}
  if test $i -gt $n; then case $((n % 4)) in
    0) exit 1 ;;
    1) echo $name ${version%%/*} >> `+dir+`/got; kill -9 $$ ;;
    2) test $n -ne 2 || sleep 1000 ;;
    3) echo garbage; test $i -le $((n+3)) || exit 0 ;;
  esac; fi
  echo $name ${version%%/*} >> `+dir+`/got
  echo $id
done
`)
	q := New(p, Options{
		Name: "hook", Workers: 4, Deadline: 500 * time.Millisecond, MaxBackoff: 20 * time.Millisecond,
		Encode:  func(dst []byte, _ event.Event) ([]byte, error) { return append(dst, "{\"a\":1}\n"...), nil },
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
	p.Shutdown(t.Context())
	if text, left := q.Summary(); left != 0 {
		t.Errorf("%d messages were not delivered: %s", left, text)
	}
	inOrder(t, filepath.Join(dir, "got"), objects, versions)
	if runs, err := os.ReadFile(filepath.Join(dir, "runs")); err != nil || bytes.Count(runs, []byte("\n")) < 5 {
		t.Errorf("the program ran %d times, want at least 5: %v", bytes.Count(runs, []byte("\n")), err)
	}
}
