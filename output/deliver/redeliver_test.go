package deliver

import (
	"errors"
	"fmt"
	"os"
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

// TestLetterRoundTrip: a message comes out of a file as it went in, whatever it holds.
func TestLetterRoundTrip(t *testing.T) {
	for _, body := range []string{
		`{"type":"MODIFIED","time":"2026-01-31T09:00:00.123Z","object":{"a":"<&>\u2028","n":9007199254740993}}` + "\n",
		"type: ADDED\nobject:\n  a: |\n    b\n",
	} {
		e := of("a\x00b.\n", 7)
		e.Time = time.Date(2026, 1, 31, 9, 0, 0, 123e6, time.UTC)
		e.Target.Mapping = event.NewMapping(configMaps.Resource().GroupResource().WithVersion("v1"), "ConfigMap", true)
		want := newMessage(&e, []byte(body), "default configmaps/a\\u0000b.\\u000a")
		line, err := encode(want, e.Time, 3, errNo)
		if err != nil {
			t.Fatal(err)
		}
		got, err := decode(line)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(Message{}), cmpopts.EquateEmpty()); diff != "" {
			t.Error(diff)
		}
	}
}

// lettersOf writes a file with letters of these objects, and returns its path and its
// lines.
func lettersOf(t *testing.T, names ...string) (path string, lines []string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "letters")
	d, err := OpenDeadLetters(path)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
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

// redeliver sends what a file holds, and returns what was damaged and the lines left.
func redeliver(t *testing.T, path string, answer func(m *Message, n int) error, o Options) (got *fake, damaged, left []string) {
	t.Helper()
	r, err := OpenRedelivery(path)
	if err != nil {
		t.Fatal(err)
	}
	got = &fake{answer: answer, begun: time.Now()}
	if err := r.Keeps(o.DeadLetters); err != nil {
		t.Fatal(err)
	}
	q := New(r.Receiver(got), o)
	done := make(chan struct{})
	go func() {
		defer close(done)
		q.Run(t.Context())
	}()
	if _, err := r.Feed(t.Context(), q, func(line int, err error) { damaged = append(damaged, fmt.Sprintf("%d: %v", line, err)) }); err != nil {
		t.Fatal(err)
	}
	q.Finish()
	<-done
	if err := r.Save(); err != nil {
		t.Fatal(err)
	}
	return got, damaged, linesIn(t, path)
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

// TestRedeliver: what is in a file is sent in its order; what is delivered is no longer in
// it, and all else is as it was.
func TestRedeliver(t *testing.T) {
	path, lines := lettersOf(t, "a", "b", "a", "c")
	odd := []string{"{\"id\":\"x\"}\n", "\x00\xff\n", "[]\n", strings.Replace(lines[0], "MODIFIED\",\"res", "SYNCED\",\"res", 1)}
	text := lines[0] + odd[0] + "\n" + lines[1] + odd[1] + lines[2] + odd[2] + lines[3] + odd[3] + lines[0][:20]
	if err := errors.Join(os.WriteFile(path, []byte(text), 0), os.Chmod(path, 0o640)); err != nil {
		t.Fatal(err)
	}
	got, damaged, left := redeliver(t, path, refusing("b"), Options{})
	taken := got.taken() // in the order of each object
	slices.SortStableFunc(taken, func(a, b string) int { return strings.Compare(a[:1], b[:1]) })
	if want := []string{"a=0", "a=2", "c=3"}; !slices.Equal(taken, want) {
		t.Errorf("%q was taken, want %q", taken, want)
	}
	if want := []string{odd[0], lines[1], odd[1], odd[2], odd[3], lines[0][:20] + "\n"}; !slices.Equal(left, want) {
		t.Errorf("%q is left, want %q", left, want)
	}
	wantDamaged := []string{
		"2: it is not a line of --dead-letters: it takes id, resource and event",
		"5: it is not a line of --dead-letters: invalid character '\\x00' looking for beginning of value",
		"7: it is not a line of --dead-letters: json: cannot unmarshal array into Go value of type deliver.letter",
		`9: it is not a line of --dead-letters: its type is "SYNCED"`,
		"10: it is not a line of --dead-letters: unexpected end of JSON input",
	}
	if diff := cmp.Diff(wantDamaged, damaged); diff != "" {
		t.Error(diff)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	got, _, left = redeliver(t, path, always, Options{})
	if want := []string{"b=1"}; !slices.Equal(got.taken(), want) || len(left) != len(odd)+1 {
		t.Errorf("the second time %q was taken, want %q; left is %q", got.taken(), want, left)
	}
	if others, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".*")); err != nil || len(others) > 0 {
		t.Errorf("%q, %v", others, err)
	}
}

// TestRedeliverKept: what is given up again moves to another file of dead letters.
func TestRedeliverKept(t *testing.T) {
	path, _ := lettersOf(t, "a", "b")
	other := filepath.Join(t.TempDir(), "other")
	letters, err := OpenDeadLetters(other)
	if err != nil {
		t.Fatal(err)
	}
	defer letters.Close()
	_, _, left := redeliver(t, path, refusing("b"), Options{DeadLetters: letters})
	if kept := linesIn(t, other); len(left) != 0 || len(kept) != 1 || !strings.Contains(kept[0], `"name":"b"`) {
		t.Errorf("left is %q, kept %q", left, kept)
	}
	// It is another file, by whatever name.
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(other, link); err != nil {
		t.Fatal(err)
	}
	r, err := OpenRedelivery(link)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Keeps(letters); err == nil {
		t.Error("lines go to the file that they are taken out of")
	}
	// A link stays one.
	redeliver(t, link, always, Options{})
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 || len(linesIn(t, other)) != 0 {
		t.Errorf("%v, %v", info, err)
	}
}

// TestRedeliverBeside: others add lines to the file all the time, and none is lost, nor
// sent twice in a row.
func TestRedeliverBeside(t *testing.T) {
	if !hasLocks {
		t.Skip("there are no locks")
	}
	path, _ := lettersOf(t)
	const writers, rounds, each = 4, 20, 20
	var letters []*DeadLetters
	for range writers {
		d, err := OpenDeadLetters(path)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		letters = append(letters, d)
	}
	seen := map[string]int{}
	take := func() (left []string) {
		got, damaged, left := redeliver(t, path, always, Options{})
		if len(damaged) > 0 {
			t.Error(damaged)
		}
		for _, one := range got.taken() {
			seen[one]++
		}
		return left
	}
	for round := range rounds {
		var all sync.WaitGroup
		for w, d := range letters {
			all.Go(func() {
				for i := range each {
					e := of(fmt.Sprintf("w%d", w), round*each+i)
					if err := d.write(newMessage(&e, []byte("{\"a\":1}\n"), "x"), time.Now(), 1, errNo); err != nil {
						t.Error(err)
					}
				}
			})
		}
		take()
		all.Wait()
	}
	if left := take(); len(left) > 0 {
		t.Errorf("%q is left", left)
	}
	if len(seen) != writers*rounds*each {
		t.Errorf("%d of %d were sent", len(seen), writers*rounds*each)
	}
	for one, times := range seen {
		if times != 1 {
			t.Errorf("%s was sent %d times", one, times)
		}
	}
}

// TestRedeliverNotes: what was delivered is noted on the way, too; and a file that can't be
// replaced stays as it is.
func TestRedeliverNotes(t *testing.T) {
	path, lines := lettersOf(t, "a", "b")
	r, err := OpenRedelivery(path)
	if err != nil {
		t.Fatal(err)
	}
	r.saved = time.Now().Add(-saveEvery)
	q := New(r.Receiver(&fake{answer: always, begun: time.Now()}), Options{})
	if _, err := r.Feed(t.Context(), q, nil); err != nil {
		t.Fatal(err)
	}
	var m *Message
	for sent := range r.sent {
		if sent.Name == "a" {
			m = sent
		}
	}
	if err := q.receiver.Send(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if left := linesIn(t, path); !slices.Equal(left, lines[1:]) {
		t.Errorf("%q is left", left)
	}
	if err := os.Rename(path, path+"-moved"); err != nil {
		t.Fatal(err)
	}
	r.note(m, &r.delivered)
	if err := r.Save(); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// TestLettersMoved: a file that was moved away is made again.
func TestLettersMoved(t *testing.T) {
	path, _ := lettersOf(t)
	d, err := OpenDeadLetters(path)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for _, to := range []string{"first", "second"} {
		if err := d.write(message(to), time.Now(), 1, errNo); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path, filepath.Join(filepath.Dir(path), to)); err != nil {
			t.Fatal(err)
		}
		if lines := linesIn(t, filepath.Join(filepath.Dir(path), to)); len(lines) != 1 {
			t.Errorf("%s has %q", to, lines)
		}
	}
}
