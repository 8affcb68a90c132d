package changes

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clipperhouse/displaywidth"
	"github.com/google/go-cmp/cmp"

	testobject "dwatch/testdata/object"
	"dwatch/watcher/event"
)

// widths are the widths of the terminals in the golden files; zero is a pipe. testdata/golden/NAME.jsonl contains events that dwatch
// recorded on a real API server with its controllers (make golden records them again). NAME.txt is the output of the view.
// UPDATE_GOLDEN=1 rewrites it.
var widths = []int{0, 160, 80}

func TestGolden(t *testing.T) {
	local := time.Local
	time.Local = time.UTC
	t.Cleanup(func() { time.Local = local })
	recordings, err := filepath.Glob("testdata/golden/*.jsonl")
	if err != nil || len(recordings) == 0 {
		t.Fatal("no recordings found", err)
	}
	for _, file := range recordings {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".jsonl"), func(t *testing.T) { golden(t, file) })
	}
}

func golden(t *testing.T, file string) {
	recorded, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	events := testobject.ParseEvents(t, string(recorded))
	var got strings.Builder
	for _, width := range widths {
		o := options(width)
		o.ShortName = testobject.ShortName
		var out strings.Builder
		v := New(&out, o)
		if err := v.Deliver(t.Context(), events); err != nil {
			t.Fatal(err)
		}
		checkLines(t, out.String(), width)
		name := "a pipe"
		if width > 0 {
			name = fmt.Sprintf("%d columns", width)
		}
		fmt.Fprintf(&got, "-- %s: %d events, %d of them only noise --\n%s", name, len(events), v.Hidden(), &out)
	}
	fmt.Fprintf(&got, "-- folded, 80 columns --\n%s", folded(t, events))
	compare(t, strings.TrimSuffix(file, ".jsonl")+".txt", got.String())
}

// folded returns the output on a terminal of events that arrive one by one, while time passes.
func folded(t *testing.T, events []event.Event) string {
	o := options(80)
	o.ShortName, o.ShowProblems, o.Fold = testobject.ShortName, true, true
	var out strings.Builder
	v := New(&out, o)
	var now time.Time
	for n := range events {
		for ; !now.IsZero() && events[n].Time.After(now); now = now.Add(tick) {
			v.FlushDue(now)
		}
		now = events[n].Time
		if err := v.Deliver(t.Context(), events[n:n+1]); err != nil {
			t.Fatal(err)
		}
	}
	v.FlushAll(now)
	checkLines(t, out.String(), 80)
	return out.String()
}

const tick = 500 * time.Millisecond

// checkLines fails the test if a line is too wide or contains a control character.
func checkLines(t *testing.T, text string, width int) {
	t.Helper()
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if width > 0 && displaywidth.String(line) > width {
			t.Errorf("line is wider than %d columns: %s", width, line)
		}
		if safe := clean(line); safe != line {
			t.Errorf("line contains control characters: %q", line)
		}
	}
}

func compare(t *testing.T, file, got string) {
	t.Helper()
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (UPDATE_GOLDEN=1 rewrites it):\n%s", file, diff)
	}
}
