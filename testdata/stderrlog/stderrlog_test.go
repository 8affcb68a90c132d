package stderrlog

import (
	"strings"
	"testing"
	"testing/iotest"
)

// TestCopy checks that only the timestamps are removed, in whatever pieces the text arrives.
func TestCopy(t *testing.T) {
	const text = "2026-01-31T02:00:00.123-07:00 error: no\n2026-01-31T02:00:00Z one\nat 2026-01-31T02:00:00.123-07:00 two\n2026-01-31T02:00:00.123+00:00 end"
	var got strings.Builder
	if err := CopyWithoutTimes(&got, iotest.OneByteReader(strings.NewReader(text))); err != nil {
		t.Fatal(err)
	}
	want := "error: no\n2026-01-31T02:00:00Z one\nat 2026-01-31T02:00:00.123-07:00 two\nend"
	if got.String() != want || StripTimes(text) != want {
		t.Errorf("got %q from CopyWithoutTimes, %q from StripTimes, want %q", got.String(), StripTimes(text), want)
	}
}
