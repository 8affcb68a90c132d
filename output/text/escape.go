// Package text prepares text for people: it escapes characters that could mislead a reader or control a terminal.
//
// Names and values come from servers, recordings and other programs, and anyone who may write an object chooses some of them.
// Every text of that kind passes one of the functions of this package before it leaves dwatch other than as data: on its way
// to a terminal, a log, the clipboard, a title, a file name or a message in a chat.
package text

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// IsUnsafe reports whether a character can control a terminal or is invisible: control characters, among them C1, line and
// paragraph separators, characters that change the direction of writing (CVE-2021-42574), and characters of no width, with
// which two different texts look the same.
func IsUnsafe(r rune) bool {
	switch {
	case r < 0x20, r == 0x7f:
		return true
	case r < 0x7f:
		return false
	}
	return unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) ||
		unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}

// Two invisible characters are part of many emoji: one selects the coloured form of the symbol in front of it, the other joins
// two symbols.
const (
	emojiForm   = '\ufe0f'
	emojiJoiner = '\u200d'
)

// isUnsafeAfter is IsUnsafe for a character that follows another one, which is 0 if that was escaped.
func isUnsafeAfter(previous, r rune) bool {
	isPartOfEmoji := (r == emojiForm || r == emojiJoiner) && (unicode.In(previous, unicode.So, unicode.Sk) && previous > 0xff || previous == emojiForm)
	return IsUnsafe(r) && !isPartOfEmoji
}

// Line returns text in one line, with each unsafe character as an escape such as \u001b. Bytes that are not UTF-8 become
// U+FFFD.
func Line(text string) string { return escape(text, "", appendEscape) }

// Lines is like Line, but keeps line feeds and tabs. A line feed replaces a carriage return with a line feed.
func Lines(text string) string {
	return escape(strings.ReplaceAll(text, "\r\n", "\n"), "\n\t", appendEscape)
}

// Mark is like Lines, but keeps carriage returns, and puts mark in the place of the backslash of each escape.
func Mark(text, mark string) string {
	return escape(text, "\r\n\t", func(dst []byte, r rune) []byte {
		return append(append(dst, mark...), string(appendEscape(nil, r))[1:]...)
	})
}

// JSON escapes the unsafe characters of a JSON text, which keeps its meaning and its line feeds.
func JSON(text string) string { return escape(text, "\n", appendJSONEscape) }

func escape(text, keep string, appendEscape func([]byte, rune) []byte) string {
	if isPlain(text) {
		return text
	}
	text = strings.ToValidUTF8(text, string(utf8.RuneError)) // a single byte could be a C1 character
	var escaped []byte
	var previous rune
	for _, r := range text {
		if isUnsafeAfter(previous, r) && !strings.ContainsRune(keep, r) {
			escaped, previous = appendEscape(escaped, r), 0
		} else {
			escaped, previous = utf8.AppendRune(escaped, r), r
		}
	}
	return string(escaped)
}

// isPlain reports whether text has nothing but printable ASCII characters, as most texts do.
func isPlain(text string) bool {
	for i := range len(text) {
		if text[i] < 0x20 || text[i] >= 0x7f {
			return false
		}
	}
	return true
}

// appendEscape appends the escape of a character as Go and YAML write it.
func appendEscape(dst []byte, r rune) []byte {
	if r > 0xffff {
		return fmt.Appendf(dst, `\U%08x`, r)
	}
	return fmt.Appendf(dst, `\u%04x`, r)
}

func appendJSONEscape(dst []byte, r rune) []byte {
	if high, low := utf16.EncodeRune(r); high != unicode.ReplacementChar {
		return fmt.Appendf(dst, `\u%04x\u%04x`, high, low)
	}
	return fmt.Appendf(dst, `\u%04x`, r)
}

// NewWriter returns a writer for the output of another program. It escapes what Lines escapes, and passes everything else on
// to w at once, except an incomplete character.
func NewWriter(w io.Writer) io.Writer { return &writer{w: w} }

type writer struct {
	w        io.Writer
	rest     []byte // an incomplete character, or a carriage return that a line feed may follow
	previous rune
}

// Write implements io.Writer.
func (w *writer) Write(p []byte) (int, error) {
	text := append(w.rest, p...)
	var escaped []byte
	for len(text) > 0 && utf8.FullRune(text) && string(text) != "\r" {
		r, size := utf8.DecodeRune(text)
		switch {
		case r == '\r' && text[1] == '\n':
			escaped, w.previous, size = append(escaped, '\n'), '\n', 2
		case r == '\n' || r == '\t' || !isUnsafeAfter(w.previous, r):
			escaped, w.previous = utf8.AppendRune(escaped, r), r
		default:
			escaped, w.previous = appendEscape(escaped, r), 0
		}
		text = text[size:]
	}
	w.rest = []byte(string(text)) // a copy: text may be p
	if len(escaped) == 0 {
		return len(p), nil
	}
	_, err := w.w.Write(escaped)
	return len(p), err
}
