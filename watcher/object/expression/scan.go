package expression

import "strings"

// This file goes through JSON text without decoding it. What the server sends has
// been checked to be JSON; other text ends a walk and is never read beyond its end.

// skipSpace returns where the first character from at on is that is no white space.
func skipSpace(text string, at int) int {
	for at < len(text) && (text[at] == ' ' || text[at] == '\n' || text[at] == '\t' || text[at] == '\r') {
		at++
	}
	return at
}

// skipString returns where the string that begins at at ends; -1 if it does not.
func skipString(text string, at int) int {
	for end := at + 1; ; end++ {
		quote := strings.IndexByte(text[end:], '"')
		if quote < 0 {
			return -1
		}
		end += quote
		escapes := 0
		for text[end-1-escapes] == '\\' { // ends at the quote at at
			escapes++
		}
		if escapes%2 == 0 {
			return end + 1
		}
	}
}

// skipValue returns where the value that begins at at ends; -1 if it does not.
func skipValue(text string, at int) int {
	if at >= len(text) {
		return -1
	}
	switch text[at] {
	case '"':
		return skipString(text, at)
	case '{', '[':
		return skipNested(text, at)
	}
	end := at
	for end < len(text) && !strings.ContainsRune(" \n\t\r,]}", rune(text[end])) {
		end++
	}
	if end == at {
		return -1
	}
	return end
}

// skipNested is skipValue for an object or a list.
func skipNested(text string, at int) int {
	depth := 0
	for at < len(text) {
		switch text[at] {
		case '"':
			if at = skipString(text, at); at < 0 {
				return -1
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return at + 1
			}
		}
		at++
	}
	return -1
}

// parts calls take with each part of an object or a list: the text of its name, with
// quotes, which is empty in a list, and that of its value. It reports whether text is
// one, as far as that is seen on the way.
func parts(text string, take func(name, value string)) bool {
	object := strings.HasPrefix(text, "{")
	last := byte(']')
	if object {
		last = '}'
	}
	at := skipSpace(text, 1)
	if at < len(text) && text[at] == last {
		return skipSpace(text, at+1) == len(text)
	}
	for at < len(text) {
		name := ""
		if object {
			end := -1
			if text[at] == '"' {
				end = skipString(text, at)
			}
			if end < 0 {
				return false
			}
			name = text[at:end]
			if at = skipSpace(text, end); at >= len(text) || text[at] != ':' {
				return false
			}
			at = skipSpace(text, at+1)
		}
		end := skipValue(text, at)
		if end < 0 {
			return false
		}
		take(name, text[at:end])
		switch at = skipSpace(text, end); {
		case at < len(text) && text[at] == ',':
			at = skipSpace(text, at+1)
		case at < len(text) && text[at] == last:
			return skipSpace(text, at+1) == len(text)
		default:
			return false
		}
	}
	return false
}
