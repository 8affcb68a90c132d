// Package top shows which objects, fields or managers change most. [Top] is an event.Sink that counts changes and prints them as
// a table or as JSON.
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

// Options configures a Top.
type Options struct {
	RankBy RankBy
	JSON   bool // prints a line of JSON per row instead of a table
	// InPlace redraws the table at the same place of a terminal. Size returns the columns and lines of the terminal, and is
	// only called if InPlace is set.
	InPlace bool
	Size    func() (width, height int)
	// MaxRows is the maximum number of rows besides those with fights or hot loops. 0 means no limit.
	MaxRows        int
	ShowNamespaces bool // adds a column with the namespace
	// Color gives the name of each cluster a colour, if there are several. ClusterNames are the clusters that are known at the
	// start.
	Color        bool
	ClusterNames []string
	// ShortName returns the name that is shown for a resource. It must not be nil.
	ShortName func(schema.GroupVersionResource) string
	// Compare selects the changes that count, and masks values.
	Compare change.Options
}

// Top counts changes. Its methods may be called from several goroutines. It embeds Options because counting and printing
// both read them.
type Top struct {
	Options
	w       io.Writer
	palette output.Palette

	mu    sync.Mutex
	tally *churn.Tally
	drawn int    // number of lines of the last table
	note  string // the last note
}

var _ event.Sink = (*Top)(nil)

// New returns a Top that writes to w.
func New(w io.Writer, o Options) *Top {
	return &Top{Options: o, w: w, palette: output.NewPalette(o.ClusterNames...), tally: churn.New()}
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

// Uncounted returns the number of objects that Top has dropped because there were too many, and the number of changes that it
// has not counted because an object had too many different fields.
func (t *Top) Uncounted() (objects, fields int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.tally.EvictedObjects, t.tally.UncountedChanges
}

// Note sets the line below the next tables, such as a message about the connection. It has no effect without InPlace.
func (t *Top) Note(_ time.Time, text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.note = output.EscapeLine(text)
}

// Print writes the current ranking.
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

// table writes the rows as a table. With InPlace, it overwrites the last table.
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

// upTo returns at most n lines, but at least one. If findings are cut off, the last line has their number.
func upTo(lines []string, n int) []string {
	n = max(n, 1)
	if len(lines) <= n {
		return lines
	}
	hidden := 0
	for _, line := range lines[n-1:] {
		if strings.HasPrefix(line, findingPrefix) {
			hidden++
		}
	}
	if hidden == 0 || n == 1 {
		return lines[:n]
	}
	return append(lines[:n-1], fmt.Sprintf("%s%d more fights and hot loops do not fit", findingPrefix, hidden))
}

// cut shortens a line to a number of columns. It keeps the escape sequences of colours.
func cut(line string, width int) string {
	return displaywidth.Options{ControlSequences: true}.TruncateString(line, width, "…")
}
