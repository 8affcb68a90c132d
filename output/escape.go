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

// escapeJSON writes what is unsafe in JSON text as \u escapes, which mean the
// same. Outside of strings JSON text holds no unsafe character but white space.
func escapeJSON(text []byte) []byte {
	harmful := func(r rune) bool { return r != '\n' && unsafe(r) }
	if bytes.IndexFunc(text, harmful) < 0 {
		return text
	}
	escaped := make([]byte, 0, len(text)+16)
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		if harmful(r) {
			escaped = fmt.Appendf(escaped, `\u%04x`, r)
		} else {
			escaped = append(escaped, text[:size]...)
		}
		text = text[size:]
	}
	return escaped
}

// Line makes text from a server or a user fit for one line: what is unsafe or
// breaks a line is written as an escape.
func Line(text string) string {
	text = strings.ToValidUTF8(text, string(utf8.RuneError)) // a byte of its own may be a C1 character
	if strings.IndexFunc(text, unsafe) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if unsafe(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Escape returns a writer for what another program prints. It passes that on to w at
// once, with escapes as Line has them, but in lines: their ends and tabs stay.
func Escape(w io.Writer) io.Writer { return &escaper{w: w} }

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
			escaped = append(escaped, Line(string(text[:size]))...)
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
