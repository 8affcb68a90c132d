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
	JSON bool // a line for each object
	// InPlace draws each table over the one before, which Size has to fit: columns and lines.
	InPlace bool
	Size    func() (width, height int)
	// Rows is of how many objects there are rows; 0: of all.
	Rows       int
	Namespaces bool // a column of them
	// ShortName returns the name that a resource is shown by.
	ShortName func(schema.GroupVersionResource) string
	// Compare says which changes count and what is masked.
	Compare change.Options
}

// Top is a Sink. Its methods may be called from any goroutine.
type Top struct {
	Options
	w io.Writer

	mu    sync.Mutex
	tally *churn.Tally
	began time.Time
	drawn int    // lines of the last table
	note  string // the last one
}

var _ event.Sink = (*Top)(nil)

// New returns a Top that writes to w. What happens before began counts for nobody's rate.
func New(w io.Writer, began time.Time, o Options) *Top {
	return &Top{Options: o, w: w, tally: churn.New(), began: began}
}

// Deliver implements event.Sink.
func (t *Top) Deliver(_ context.Context, batch []event.Event) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range batch {
		e := &batch[i]
		var r change.Result
		if e.Type == event.Modified && !e.Old.IsZero() {
			r = change.Between(e.Old.Raw(), e.Object.Raw(), t.Compare)
		}
		t.tally.Observe(e, &r)
	}
	return nil
}

// Note shows below the next tables what becomes of the watch. It is for what is drawn in place.
func (t *Top) Note(_ time.Time, text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.note = output.Line(text)
}

// Print writes what changes most by now.
func (t *Top) Print(now time.Time) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var rows []row
	for _, o := range t.tally.Top(now) {
		if t.Rows > 0 && len(rows) == t.Rows {
			break
		}
		rows = append(rows, t.row(o, now))
	}
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
		lines = append(lines[:min(len(lines), max(height-2, 1))], t.note)
	}
	lines = lines[:min(len(lines), max(height-1, 1))]
	if t.drawn > 0 {
		fmt.Fprintf(b, "\x1b[%dA\x1b[J", t.drawn)
	}
	for _, line := range lines {
		b.WriteString(cut(line, width) + "\n")
	}
	t.drawn = len(lines)
}

// cut shortens a line to a terminal.
func cut(line string, width int) string {
	if displaywidth.String(line) <= width {
		return line
	}
	var b strings.Builder
	for _, r := range line {
		if displaywidth.String(b.String()+string(r)) >= width {
			break
		}
		b.WriteRune(r)
	}
	return b.String() + "…"
}
