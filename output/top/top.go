// Package top shows which objects change most: a Sink that counts, and prints the table when it is
// asked to, at a terminal in place of the one before.
package top

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/clipperhouse/displaywidth"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/output"
	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
	"dwatch/watcher/object/churn"
)

// Options say what is shown, and how.
type Options struct {
	RankBy RankBy
	JSON   bool // a line for each row
	// InPlace draws each table over the one before, which Size has to fit: columns and lines.
	InPlace bool
	Size    func() (width, height int)
	// Rows is how many there are at most; 0: all.
	MaxRows        int
	ShowNamespaces bool // a column of them
	// Color gives the name of each cluster, of several, a colour of its own; Clusters are those that are known at first.
	Color        bool
	ClusterNames []string
	// ShortName returns the name that a resource is shown by.
	ShortName func(schema.GroupVersionResource) string
	// Compare says which changes count and what is masked.
	Compare change.Options
}

// Top is a Sink. Its methods may be called from any goroutine.
type Top struct {
	Options
	w       io.Writer
	palette output.Palette

	mu    sync.Mutex
	tally *churn.Tally
	began time.Time
	drawn int    // lines of the last table
	note  string // the last one
}

var _ event.Sink = (*Top)(nil)

// New returns a Top that writes to w. What happens before began counts for nobody's rate.
func New(w io.Writer, began time.Time, o Options) *Top {
	return &Top{Options: o, w: w, palette: output.NewPalette(o.ClusterNames...), tally: churn.New(), began: began}
}

// Deliver implements event.Sink.
func (t *Top) Deliver(_ context.Context, batch []event.Event) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range batch {
		e := &batch[i]
		var r change.Result
		if e.Type == event.Modified && !e.Old.IsZero() {
			r = change.Diff(e.Old.Raw(), e.Object.Raw(), t.Compare)
		}
		t.tally.Observe(e, &r)
	}
	return nil
}

// Lost returns, at any time, how many objects are not counted any more, as there were too many, and how many changes
// of fields are not, as an object had too many of these.
func (t *Top) Uncounted() (objects, fields int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.tally.EvictedObjects, t.tally.UncountedChanges
}

// Note shows below the next tables what becomes of the watch. It is for what is drawn in place.
func (t *Top) Note(_ time.Time, text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.note = output.EscapeLine(text)
}

// Print writes what changes most by now.
func (t *Top) Print(now time.Time) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	rows := t.rows(now)
	var b bytes.Buffer
	switch {
	case t.JSON:
		encoder := json.NewEncoder(&b)
		encoder.SetEscapeHTML(false)
		for i := range rows {
			if err := encoder.Encode(&rows[i]); err != nil {
				return err
			}
		}
	default:
		t.table(&b, rows)
	}
	_, err := t.w.Write(b.Bytes())
	return err
}

// table writes the rows, in place over those before.
func (t *Top) table(b *bytes.Buffer, rows []row) {
	lines := t.lines(rows)
	if !t.InPlace {
		if t.drawn > 0 {
			b.WriteByte('\n')
		}
		t.drawn = len(lines)
		b.WriteString(strings.Join(lines, "\n") + "\n")
		return
	}
	width, height := t.Size()
	if t.note != "" {
		lines = append(upTo(lines, height-2), t.note)
	}
	lines = upTo(lines, height-1)
	if t.drawn > 0 {
		fmt.Fprintf(b, "\x1b[%dA\x1b[J", t.drawn)
	}
	for _, line := range lines {
		b.WriteString(cut(line, width) + "\n")
	}
	t.drawn = len(lines)
}

// upTo cuts lines to n, at least one, of which the last says how many findings have no room.
func upTo(lines []string, n int) []string {
	n = max(n, 1)
	if len(lines) <= n {
		return lines
	}
	hidden := 0
	for _, line := range lines[n-1:] {
		if strings.HasPrefix(line, found) {
			hidden++
		}
	}
	if hidden == 0 || n == 1 {
		return lines[:n]
	}
	return append(lines[:n-1], fmt.Sprintf("%sfights and hot loops for which there is no room: %d", found, hidden))
}

// cut shortens a line to a terminal. Its colours, which are ours, take no room.
func cut(line string, width int) string {
	return displaywidth.Options{ControlSequences: true}.TruncateString(line, width, "…")
}
