package output

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// unsafe reports whether r can steer a terminal or mislead its reader: control
// characters (among them the C1 set, which JSON does not escape) and the format
// characters that turn the direction of writing (CVE-2021-42574).
func unsafe(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}

// Line makes text fit for one line, with escapes for what is unsafe or ends a line.
func EscapeLine(text string) string { return escape(text, "") }

// escape writes what is unsafe as \u escapes, but for what is to stay. In strings of JSON they mean
// the same, and outside of them nothing is unsafe but the ends of lines.
func escape(text, stays string) string {
	text = strings.ToValidUTF8(text, string(utf8.RuneError)) // a byte of its own may be a C1 character
	harmful := func(r rune) bool { return unsafe(r) && !strings.ContainsRune(stays, r) }
	if strings.IndexFunc(text, harmful) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if harmful(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// safe is text with escapes for what could steer a terminal, if people read it.
func (o *Options) safe(text string) string {
	if !o.Terminal {
		return text
	}
	return escape(strings.ReplaceAll(text, "\r\n", "\n"), "\n\t")
}

// Escape returns a writer for what another program prints, which passes it on to w at once, with
// escapes as Line has them, but for the ends of lines and tabs.
func NewEscapeWriter(w io.Writer) io.Writer { return &escaper{w: w} }

type escaper struct {
	w    io.Writer
	rest []byte // the begin of a character, or of a line's end
}

// Write implements io.Writer.
func (e *escaper) Write(p []byte) (int, error) {
	text := append(e.rest, p...)
	var escaped []byte
	for len(text) > 0 && utf8.FullRune(text) && !bytes.Equal(text, []byte("\r")) {
		r, size := utf8.DecodeRune(text)
		switch {
		case bytes.HasPrefix(text, []byte("\r\n")):
			escaped, size = append(escaped, '\n'), 2
		case r == '\n' || r == '\t':
			escaped = append(escaped, byte(r))
		default:
			escaped = append(escaped, EscapeLine(string(text[:size]))...)
		}
		text = text[size:]
	}
	e.rest = bytes.Clone(text)
	if len(escaped) == 0 {
		return len(p), nil
	}
	_, err := e.w.Write(escaped)
	return len(p), err
}
