package output

import (
	"bytes"
	"fmt"
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
