package change

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// keys reads key=value,key=value.
func (s *scanner) keys() (matcher, error) {
	m := matcher{kind: keyedItem}
	for {
		start := s.at
		name, _, err := s.word()
		if err != nil {
			return m, err
		}
		if !s.skip("=") {
			return m, s.errorAt(start, `"=" and a value are missing after the key %q`, name)
		}
		if s.at < s.end && s.text[s.at] == '=' {
			return m, s.errorAt(s.at, `use a single "=" in brackets`)
		}
		value, _, err := s.word()
		if err != nil {
			return m, err
		}
		m.keys = append(m.keys, Key{name, value})
		if !s.skip(",") {
			return m, nil
		}
	}
}

// filter reads @.key==value and the closing parenthesis, after "[?(".
func (s *scanner) filter() (matcher, error) {
	m := matcher{kind: keyedItem}
	s.spaces()
	if !s.skip("@.") {
		return m, s.errorAt(s.at, `"@." and a key are missing`)
	}
	start := s.at
	for s.at < s.end && !strings.ContainsRune("=!<>.[]() \t", s.rune()) {
		_, size := utf8.DecodeRuneInString(s.text[s.at:s.end])
		s.at += size
	}
	name := s.text[start:s.at]
	s.spaces()
	if name == "" || !s.skip("==") {
		return m, s.errorAt(s.at, `"==" is missing, the only supported filter is @.key=="value"`)
	}
	s.spaces()
	value, _, err := s.word()
	if err != nil {
		return m, err
	}
	s.spaces()
	if !s.skip(")") {
		return m, s.errorAt(s.at, `")" is missing`)
	}
	m.keys = []Key{{name, value}}
	return m, nil
}

func (s *scanner) spaces() {
	for s.at < s.end && (s.text[s.at] == ' ' || s.text[s.at] == '\t') {
		s.at++
	}
}

// word reads a name or a value in brackets. A word that is empty or contains special characters must be quoted.
func (s *scanner) word() (word string, quoted bool, err error) {
	start := s.at
	if s.at < s.end && (s.text[s.at] == '"' || s.text[s.at] == '\'') {
		word, err = s.quoted()
		return word, true, err
	}
	for s.at < s.end {
		r, size := utf8.DecodeRuneInString(s.text[s.at:s.end])
		if strings.ContainsRune("]=,)", r) {
			break
		}
		if unicode.IsSpace(r) || strings.ContainsRune(special, r) {
			return "", false, s.errorAt(s.at, "%q must be in quotes", r)
		}
		s.at += size
	}
	if s.at == start {
		return "", false, s.errorAt(s.at, "a name or a value is missing; an empty one is \"\"")
	}
	return s.text[start:s.at], false, nil
}

// quoted reads a string in double quotes with the escapes of Go, or in single quotes, where a backslash escapes the next
// character.
func (s *scanner) quoted() (string, error) {
	start, quote := s.at, s.text[s.at]
	var b strings.Builder
	for s.at++; s.at < s.end; s.at++ {
		switch c := s.text[s.at]; {
		case c == quote:
			s.at++
			if quote == '\'' {
				return b.String(), nil
			}
			text, err := strconv.Unquote(s.text[start:s.at])
			if err != nil {
				return "", s.errorAt(start, "invalid quoted string %s", s.text[start:s.at])
			}
			return text, nil
		case c == '\\' && s.at+1 < s.end:
			s.at++
			b.WriteByte(s.text[s.at])
		default:
			b.WriteByte(c)
		}
	}
	return "", s.errorAt(start, "the closing quote is missing")
}
