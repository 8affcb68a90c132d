package changes

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"

	"dwatch/output"
	"dwatch/watcher/object/change"
)

type row struct {
	path     string
	kind     change.Kind
	old, new string // shortened
	diff     string // of long texts; otherwise empty
}

const (
	maxValue     = 120 // maximum columns of a value
	maxProse     = 400 // maximum columns of prose
	contextBytes = 16  // bytes of a long value that are shown before the first difference
	maxDiff      = 20  // maximum lines of a diff
	leastPath    = 24  // minimum columns of a path that is cut
)

func (o *lineWriter) row(c change.Change) row {
	r := row{path: clean(c.Path.String()), kind: c.Kind}
	before, wasText := c.Old.(string)
	after, isText := c.New.(string)
	if wasText && isText && (change.IsMultiline(before) || change.IsMultiline(after)) {
		r.diff = o.diff(before, after)
		return r
	}
	quoted := c.Kind == change.TypeChanged || c.Kind == change.Rewritten
	r.old, r.new = o.shortenBoth(valueText(c.Old, quoted), valueText(c.New, quoted))
	if text, known := c.Summary(); known && !o.noTruncate {
		r.old, r.new = o.shorten(clean(text)), o.shorten(clean(text))
	}
	switch c.WholeValue().(type) {
	case int64, float64, json.Number: // "+ 1" and "- 1" would read as sums
		r.kind = change.Changed
		if c.Kind == change.Added {
			r.old = "none"
		} else {
			r.new = "none"
		}
	}
	return r
}

// diff returns the escaped lines of a unified diff.
func (o *lineWriter) diff(before, after string) string {
	lines := strings.Split(strings.TrimSuffix(change.UnifiedDiff(before, after), "\n"), "\n")
	more := ""
	if len(lines) > maxDiff && !o.noTruncate {
		more = fmt.Sprintf("\n%s %d more lines", ellipsis, len(lines)-maxDiff)
		lines = lines[:maxDiff]
	}
	for i, line := range lines {
		lines[i] = clean(line)
	}
	return strings.Join(lines, "\n") + more
}

// valueText returns a value in full. A string has quotes if quoted is set, or if it could be misread without.
func valueText(value any, quoted bool) string {
	text, isText := value.(string)
	if !isText || quoted || isMistakable(text) {
		text = output.JSON(value)
	}
	return clean(text)
}

// isMistakable reports whether a string could be misread without quotes.
func isMistakable(text string) bool {
	return text == "" || text != strings.TrimSpace(text) || change.IsMultiline(text) || text[0] == '"' || strings.Contains(text, "→")
}

func (o *lineWriter) shorten(text string) string { return o.shortenFrom(text, 0) }

// shortenFrom shortens a value that is too long: at its end, and to the part from a byte on.
func (o *lineWriter) shortenFrom(text string, from int) string {
	most := o.maxColumns(text)
	if o.noTruncate || displaywidth.String(text) <= most {
		return text
	}
	rest, whole := text[from:], " ("+size(len(text))+")"
	if from > 0 {
		rest = ellipsis + rest
	}
	return cutEnd(rest, most-len(whole)) + whole
}

// maxColumns returns the maximum columns of a value. Prose has more, because its end often matters.
func (o *lineWriter) maxColumns(text string) int {
	if isProse(text) {
		return maxProse
	}
	return min(maxValue, o.room("")-len("  + "))
}

// shortenBoth shortens two values so that both show their first difference.
func (o *lineWriter) shortenBoth(old, new string) (string, string) {
	from := 0
	for from < min(len(old), len(new)) && old[from] == new[from] {
		from++
	}
	from -= contextBytes
	if from < leastPath {
		return o.shorten(old), o.shorten(new)
	}
	for !utf8.RuneStart(old[from]) {
		from--
	}
	if i := strings.LastIndexByte(old[:from], '\\'); i >= 0 && from-i < len(`\u0000`) { // not within an escape
		from = i
	}
	return o.shortenFrom(old, from), o.shortenFrom(new, from)
}

// isProse reports whether a text consists of words.
func isProse(text string) bool {
	return text != "" && !strings.ContainsRune(`[{"`, rune(text[0])) && strings.Count(text, " ") > len(text)/20
}

func size(bytes int) string {
	if bytes < 1000 {
		return fmt.Sprintf("%d bytes", bytes)
	}
	return fmt.Sprintf("%.1f KB", float64(bytes)/1000)
}

// inLine returns the row on one line, with a shortened path if necessary. It returns false if the row does not fit.
func (r row) inLine(room int) (string, bool) {
	if r.diff != "" {
		return "", false
	}
	text := r.text()
	line := r.path + "  " + text
	if displaywidth.String(line) <= room {
		return line, true
	}
	left := room - 2 - displaywidth.String(text)
	if left < min(leastPath, displaywidth.String(r.path)) {
		return "", false
	}
	return cutFront(r.path, left) + "  " + text, true
}

func (r row) text() string {
	switch r.kind {
	case change.Added:
		return "+ " + r.new
	case change.Removed: // "- 30s" after a path could be read as a negative number
		return "removed (was " + r.old + ")"
	case change.Moved:
		return "moved from [" + r.old + "] to [" + r.new + "]"
	case change.Rewritten:
		return r.old + " → " + r.new + " (means the same)"
	default:
		return r.old + " → " + r.new
	}
}

func (r row) lines() []string {
	switch {
	case r.diff != "":
		return strings.Split(r.diff, "\n")
	case r.kind == change.Added, r.kind == change.Moved:
		return []string{r.text()}
	case r.kind == change.Removed:
		return []string{"- " + r.old}
	default:
		return []string{"- " + r.old, "+ " + r.new}
	}
}

// clean escapes text from a server.
func clean(text string) string { return output.EscapeLine(text) }
