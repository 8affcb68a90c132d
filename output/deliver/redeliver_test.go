package deliver

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"dwatch/watcher/event"
)

// TestDeadLetterRoundTrip checks that decoding an encoded dead letter returns the same message.
func TestDeadLetterRoundTrip(t *testing.T) {
	for _, body := range []string{
		`{"type":"MODIFIED","time":"2026-01-31T09:00:00.123Z","object":{"a":"<&>\u2028","n":9007199254740993}}` + "\n",
		"type: ADDED\nobject:\n  a: |\n    b\n",
	} {
		e := of("a\x00b.\n", 7)
		e.Time = time.Date(2026, 1, 31, 9, 0, 0, 123e6, time.UTC)
		e.Target.Mapping = event.NewMapping(configMaps.Resource().GroupResource().WithVersion("v1"), "ConfigMap", true)
		want := newMessage(&e, []byte(body), "default configmaps/a\\u0000b.\\u000a")
		got, err := decode(encode(want, e.Time, 3, errNo))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(Message{}), cmpopts.EquateEmpty()); diff != "" {
			t.Error(diff)
		}
	}
}

// deadLettersOf writes a file with messages of the given objects, and returns its path and lines.
func deadLettersOf(t *testing.T, names ...string) (path string, lines []string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "dead")
	d := DeadLetterFile(path)
	if err := d.Check(); err != nil {
		t.Fatal(err)
	}
	for i, name := range names {
		e := of(name, i)
		if err := d.write(newMessage(&e, []byte("{\"a\":1}\n"), name), time.Now(), 1, errNo); err != nil {
			t.Fatal(err)
		}
	}
	return path, linesIn(t, path)
}

func linesIn(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Collect(strings.Lines(string(text)))
}

// redeliver sends the messages of a file, and returns the damaged lines and the number of messages.
func redeliver(t *testing.T, path string, answer func(m *Message, n int) error, o Options) (got *fake, damaged []string, messages int) {
	t.Helper()
	r, err := OpenRedelivery(path)
	if err != nil {
		t.Fatal(err)
	}
	got = &fake{answer: answer, begun: time.Now()}
	q := New(got, o)
	done := make(chan struct{})
	go func() {
		defer close(done)
		q.Run(t.Context())
	}()
	messages, err = r.Feed(t.Context(), q, func(line int, err error) { damaged = append(damaged, fmt.Sprintf("%d: %v", line, err)) })
	if err != nil {
		t.Fatal(err)
	}
	q.Drain()
	<-done
	return got, damaged, messages
}

// refusing refuses the messages of an object.
func refusing(name string) func(*Message, int) error {
	return func(m *Message, _ int) error {
		if m.Name == name {
			return &RefusedError{Err: errNo}
		}
		return nil
	}
}

// TestRedeliver checks that the messages of a file are sent in order, and that damaged lines are reported. Messages that fail again go
// to another file, and the first file does not change.
func TestRedeliver(t *testing.T) {
	path, lines := deadLettersOf(t, "a", "b", "a", "c")
	odd := []string{"{\"id\":\"x\"}\n", "\x00\xff\n", "[]\n", strings.Replace(lines[0], "MODIFIED\",\"res", "SYNCED\",\"res", 1)}
	text := lines[0] + odd[0] + "\n" + lines[1] + odd[1] + lines[2] + odd[2] + lines[3] + odd[3] + lines[0][:20]
	if err := os.WriteFile(path, []byte(text), 0); err != nil {
		t.Fatal(err)
	}
	again := DeadLetterFile(filepath.Join(t.TempDir(), "again"))
	if err := again.Check(); err != nil {
		t.Fatal(err)
	}
	got, damaged, messages := redeliver(t, path, refusing("b"), Options{DeadLetters: again})
	taken := got.taken() // in the order of each object
	slices.SortStableFunc(taken, func(a, b string) int { return strings.Compare(a[:1], b[:1]) })
	if want := []string{"a=0", "a=2", "c=3"}; !slices.Equal(taken, want) || messages != 4 {
		t.Errorf("accepted %q of %d messages, want %q of 4", taken, messages, want)
	}
	wantDamaged := []string{
		"2: it is not a line of --dead-letters: it takes id, resource and event",
		"5: it is not a line of --dead-letters: invalid character '\\x00' looking for beginning of value",
		"7: it is not a line of --dead-letters: json: cannot unmarshal array into Go value of type deliver.deadLetter",
		`9: it is not a line of --dead-letters: its type is "SYNCED"`,
		"10: it is not a line of --dead-letters: unexpected end of JSON input",
	}
	if diff := cmp.Diff(wantDamaged, damaged); diff != "" {
		t.Error(diff)
	}
	if left := strings.Join(linesIn(t, path), ""); left != text {
		t.Errorf("the file changed from %q to %q", text, left)
	}
	if kept := linesIn(t, string(again)); len(kept) != 1 || !strings.Contains(kept[0], `"name":"b"`) {
		t.Errorf("messages that failed again: got %q, want b", kept)
	}
}

// TestRedeliverWhileAppending checks that while other writers append lines, no line is lost or cut, and that a run sends all lines that existed
// at its start once.
func TestRedeliverWhileAppending(t *testing.T) {
	path, _ := deadLettersOf(t)
	const writers, rounds, each = 4, 10, 20
	for round := range rounds {
		var all sync.WaitGroup
		for w := range writers {
			d := DeadLetterFile(path)
			if err := d.Check(); err != nil {
				t.Fatal(err)
			}
			all.Go(func() {
				for i := range each {
					e := of(fmt.Sprintf("w%d", w), round*each+i)
					if err := d.write(newMessage(&e, []byte("{\"a\":1}\n"), "x"), time.Now(), 1, errNo); err != nil {
						t.Error(err)
					}
				}
			})
		}
		checkRedelivered(t, path, writers*round*each)
		all.Wait()
	}
	checkRedelivered(t, path, writers*rounds*each)
}

// checkRedelivered sends the messages of a file, and checks that there are at least that many.
func checkRedelivered(t *testing.T, path string, least int) {
	t.Helper()
	got, damaged, messages := redeliver(t, path, always, Options{Workers: 4})
	// The last line may not be complete yet.
	if len(damaged) > 1 || messages < least {
		t.Errorf("read %d messages, want at least %d; damaged lines: %q", messages, least, damaged)
	}
	seen := map[string]bool{}
	for _, one := range got.taken() {
		seen[one] = true
	}
	if len(seen) != messages {
		t.Errorf("%d of %d messages were sent", len(seen), messages)
	}
}

// TestDeadLettersMoved checks that a file that was moved away is created again.
func TestDeadLettersMoved(t *testing.T) {
	path, _ := deadLettersOf(t)
	d := DeadLetterFile(path)
	if err := d.Check(); err != nil {
		t.Fatal(err)
	}
	for _, to := range []string{"first", "second"} {
		if err := d.write(message(to), time.Now(), 1, errNo); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path, filepath.Join(filepath.Dir(path), to)); err != nil {
			t.Fatal(err)
		}
		if lines := linesIn(t, filepath.Join(filepath.Dir(path), to)); len(lines) != 1 {
			t.Errorf("%s has lines %q, want one", to, lines)
		}
	}
}

// TestDeadLettersPipe checks that a pipe, which could block, is rejected at once.
func TestDeadLettersPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := exec.Command("mkfifo", pipe).Run(); err != nil {
		t.Skip(err)
	}
	if err := DeadLetterFile(pipe).Check(); err == nil || !strings.HasSuffix(err.Error(), "pipe is not a regular file") {
		t.Errorf("Check of a pipe: got %v", err)
	}
	if _, err := OpenRedelivery(pipe); err == nil || !strings.HasSuffix(err.Error(), "pipe is not a file") {
		t.Errorf("OpenRedelivery of a pipe: got %v", err)
	}
}
