package main

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// script is a source that returns one element per read, and a missed deadline for "".
type script []string

func (s *script) SetReadDeadline(time.Time) error { return nil }

func (s *script) Read(p []byte) (int, error) {
	if len(*s) == 0 {
		return 0, io.EOF
	}
	if (*s)[0] == "" {
		*s = (*s)[1:]
		return 0, os.ErrDeadlineExceeded
	}
	n := copy(p, (*s)[0])
	if (*s)[0] = (*s)[0][n:]; (*s)[0] == "" {
		*s = (*s)[1:]
	}
	return n, nil
}

func TestNext(t *testing.T) {
	long := strings.Repeat("x", 3*pipeSize)
	pieces := script{"a\nb", "c\n\nd", "", "e\n", long, "\nhalf"}
	lines := newLineReader(&pieces)
	var got []string
	for {
		line, err := lines.next(time.Second)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			got = append(got, "late")
			continue
		}
		if err != nil {
			break
		}
		got = append(got, string(line))
	}
	want := []string{"a\n", "bc\n", "\n", "late", "de\n", long + "\n"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if want := int64(len(strings.Join(want, "")) - len("late")); lines.taken != want {
		t.Errorf("got %d bytes, want %d", lines.taken, want)
	}
}

func TestFollow(t *testing.T) {
	pieces := script{
		`{"type":"ADDED","object":{}}` + "\n" + `{"type":"BOOKMARK","object":{}}` + "\n",
		`{"type":"MODIFIED","old":{}}` + "\n" + "noise\n" + `{"type":"DELETED","object":{}}` + "\n",
	}
	lines := newLineReader(&pieces)
	if got, err := lines.follow(1, time.Second, nil); got != 1 || err != nil {
		t.Errorf("got %d events, %v, want 1", got, err)
	}
	seen := 0
	got, err := lines.follow(3, time.Second, func([]byte) { seen++ })
	if got != 2 || seen != 2 || !errors.Is(err, io.EOF) {
		t.Errorf("got %d events, %d calls of see, %v, want 2, 2 and EOF", got, seen, err)
	}
}
