package deliver

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// openDead returns a DeadLetterFile, and a function that returns its current lines.
func openDead(t *testing.T) (DeadLetterFile, func() []deadLetter) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "dead")
	d := DeadLetterFile(path)
	if err := d.Check(); err != nil {
		t.Fatal(err)
	}
	return d, func() (letters []deadLetter) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			var l deadLetter
			if err := json.Unmarshal([]byte(line), &l); err != nil {
				t.Errorf("dead letter %s: %v", line, err)
			}
			letters = append(letters, l)
		}
		return letters
	}
}

// TestRefused checks that a message that is refused permanently is not retried, and does not delay later messages.
func TestRefused(t *testing.T) {
	dead, read := openDead(t)
	answer := func(m *Message, _ int) error {
		if m.ResourceVersion == "1" {
			return &RefusedError{errNo}
		}
		return nil
	}
	inBubble(t, Options{DeadLetters: dead}, answer, func(t *testing.T, r *running) {
		r.deliver(t, of("a", 1), of("a", 2), of("b", 1))
		synctest.Wait()
		if got := r.taken(); !slices.Equal(got, []string{"a=2"}) {
			t.Errorf("accepted %q, want a=2", got)
		}
		got := read()
		for i := range got {
			got[i].Time = ""
		}
		want := deadLetter{
			Reason: "no", Tries: 1, ID: "uid-a/1/MODIFIED", Type: "MODIFIED", Resource: "configmaps.v1.",
			Identity: *of("a", 1).Object.Identity, Subject: "cm/a", Event: json.RawMessage("{}"),
		}
		if len(got) != 2 {
			t.Fatalf("got %d dead letters, want 2", len(got))
		}
		if diff := cmp.Diff(want, got[0]); diff != "" {
			t.Error(diff)
		}
		if text, left := r.Summary(); left != 0 || text != "fake: 1 delivered, 0 repeated, 2 given up, 0 waiting" {
			t.Errorf("got summary %q, %d undelivered", text, left)
		}
		if want := "gave up MODIFIED of cm/a (uid-a/1/MODIFIED): no"; len(r.warnings()) != 2 || r.warnings()[0] != want {
			t.Errorf("got warnings %q, want two, the first %q", r.warnings(), want)
		}
	})
}

// TestGiveUp checks that a message is given up after its last attempt at GiveUpAfter. Without a DeadLetterFile it is lost and counts as
// undelivered.
func TestGiveUp(t *testing.T) {
	answer := func(m *Message, _ int) error {
		if m.Name == "bad" && m.ResourceVersion == "1" {
			return errNo
		}
		return nil
	}
	inBubble(t, Options{GiveUpAfter: 10 * time.Minute}, answer, func(t *testing.T, r *running) {
		r.deliver(t, of("bad", 1), of("bad", 2))
		await(10*time.Minute - time.Second)
		if early := r.warnings(); len(early) > 0 {
			t.Errorf("before GiveUpAfter: got warnings %q, want none", early)
		}
		await(2 * time.Second)
		if got := r.taken(); !slices.Equal(got, []string{"bad=2"}) {
			t.Errorf("accepted %q, want bad=2", got)
		}
		if text, left := r.Summary(); left != 1 || !strings.Contains(text, " 1 given up, 0 waiting") {
			t.Errorf("got summary %q, %d undelivered, want 1 given up and undelivered", text, left)
		}
	})
}

// TestGiveUpDown checks that expired messages are given up without their own attempt while the receiver is down.
func TestGiveUpDown(t *testing.T) {
	dead, read := openDead(t)
	inBubble(t, Options{GiveUpAfter: 10 * time.Minute, DeadLetters: dead}, never, func(t *testing.T, r *running) {
		for i := range 50 {
			r.deliver(t, of(fmt.Sprint("o", i), 1), of(fmt.Sprint("o", i), 2))
		}
		await(5 * time.Minute)
		r.deliver(t, of("late", 1))
		await(6*time.Minute + time.Second) // includes the maximum delay of a probe
		if n := len(read()); n != 100 {
			t.Errorf("%d messages were given up, want all but the last", n)
		}
		last := map[string]string{}
		for _, l := range read() {
			if last[l.Name] > l.ResourceVersion {
				t.Errorf("%s: version %s was given up after %s", l.Name, l.ResourceVersion, last[l.Name])
			}
			last[l.Name] = l.ResourceVersion
		}
		await(6 * time.Minute)
		if text, left := r.Summary(); left != 0 || !strings.Contains(text, " 101 given up, 0 waiting") {
			t.Errorf("got summary %q, %d undelivered, want 101 given up", text, left)
		}
	})
}

// TestDeadLettersFail checks that a message is not given up if its dead letter can't be written, and that the delivery ends.
func TestDeadLettersFail(t *testing.T) {
	dead, _ := openDead(t)
	if err := errors.Join(os.Remove(string(dead)), os.Mkdir(string(dead), 0o700)); err != nil {
		t.Fatal(err)
	}
	failed := 0
	o := Options{DeadLetters: dead, OnStorageError: func(error) { failed++ }}
	inBubble(t, o, func(*Message, int) error { return &RefusedError{errNo} }, func(t *testing.T, r *running) {
		r.deliver(t, of("a", 1))
		await(time.Minute)
		if failed != 1 || r.Err() == nil {
			t.Errorf("OnStorageError was called %d times, Err is %v, want one call", failed, r.Err())
		}
		if _, left := r.Summary(); left != 1 {
			t.Errorf("%d undelivered, want 1", left)
		}
	})
	o.GiveUpAfter = time.Minute
	inBubble(t, o, never, func(t *testing.T, r *running) {
		r.deliver(t, of("a", 1))
		await(time.Hour)
		if n := len(r.all()); n > 130 {
			t.Errorf("got %d attempts in an hour, want at most 130", n)
		}
	})
}

// TestDeadLettersCutOff checks that a line that was cut off does not damage the next one.
func TestDeadLettersCutOff(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dead")
	if err := os.WriteFile(path, []byte("{\"a\":1}\n{\"b"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time nothing is cut off
		d := DeadLetterFile(path)
		if err := d.Check(); err != nil {
			t.Fatal(err)
		}
		e := of("a", 1)
		if err := d.write(newMessage(&e, []byte("type: X\n"), "cm/a"), time.Now(), 1, errNo); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	if len(lines) != 5 || lines[1] != `{"b` || !strings.HasSuffix(lines[2], `"event":"type: X\n"}`) || lines[4] != "" {
		t.Errorf("got lines %q", lines)
	}
	if err := DeadLetterFile(t.TempDir()).Check(); err == nil {
		t.Error("Check of a directory returned no error")
	}
}

// TestDeadLettersCutOffByOtherProcess checks the same for a line of another process that was killed, or that had a full disk, while this
// process was using the file.
func TestDeadLettersCutOffByOtherProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dead")
	d := DeadLetterFile(path)
	if err := d.Check(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(`{"b`), 0o600); err != nil {
		t.Fatal(err)
	}
	e := of("a", 1)
	if err := d.write(newMessage(&e, []byte("{}"), "cm/a"), time.Now(), 1, errNo); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	if len(lines) != 3 || lines[0] != `{"b` || !json.Valid([]byte(lines[1])) {
		t.Errorf("got lines %q", lines)
	}
}

// TestRefusalIsAnAnswer checks that a receiver that refuses a message does not count as down.
func TestRefusalIsAnAnswer(t *testing.T) {
	answer := func(_ *Message, n int) error {
		switch {
		case n <= downAfter:
			return errNo
		case n == downAfter+1:
			return &RefusedError{errNo}
		default:
			return nil
		}
	}
	inBubble(t, Options{}, answer, func(t *testing.T, r *running) {
		for i := range 10 {
			r.deliver(t, of(fmt.Sprint("o", i), 1))
		}
		await(firstBackoff)
		if n := len(r.taken()); n != 9 {
			t.Errorf("%d messages were accepted after the first probe, want all others", n)
		}
	})
}
