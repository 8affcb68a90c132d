package change

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ParsePattern parses a pattern in the syntax of [Path.String] or in the JSONPath syntax of kubectl:
//
//	spec.replicas  .spec.replicas  {.spec.replicas}  $.spec.replicas
//	spec.template.spec.containers[*].image      any item or field, also written .*
//	spec.template.spec.containers[name=web]     the item with that key
//	spec.ports[port=80,protocol=TCP]            the item with several keys
//	{.spec.containers[?(@.name=="web")].image}  the same in JSONPath
//	spec.rules[0]                               an index, from 0, or the field "0"
//	metadata.finalizers[=example.com/guard]     a value in a set
//	metadata.annotations[example.com/team]      a field whose name is not an identifier
//	metadata.annotations['example.com/team']    the same in JSONPath
//	metadata.annotations.example\.com/team      the same with a backslash
//	status..observedGeneration                  at any depth below status
//
// Keys can be any fields of an item. They match the value before or after the change, compared as text. Other JSONPath
// syntax is an error. Errors contain the position of the invalid character, counted from 1.
func ParsePattern(text string) (Pattern, error) {
	s := scanner{text: text, end: len(text)}
	steps, err := s.pattern()
	if err != nil {
		return Pattern{}, err
	}
	return Pattern{text, steps}, nil
}

// mustParse parses patterns in the source of this package.
func mustParse(texts ...string) Patterns {
	patterns := make(Patterns, len(texts))
	for i, text := range texts {
		var err error
		if patterns[i], err = ParsePattern(text); err != nil {
			panic(err)
		}
	}
	return patterns
}

// scanner reads a pattern from text[at:end].
type scanner struct {
	text    string
	at, end int
}

// errorAt returns an error about the character at a byte offset of the text.
func (s *scanner) errorAt(at int, format string, args ...any) error {
	return fmt.Errorf("path %q, character %d: %s", s.text, utf8.RuneCountInString(s.text[:at])+1, fmt.Sprintf(format, args...))
}

// skip consumes prefix and returns true if the remaining text starts with it.
func (s *scanner) skip(prefix string) bool {
	if !strings.HasPrefix(s.text[s.at:s.end], prefix) {
		return false
	}
	s.at += len(prefix)
	return true
}

func (s *scanner) pattern() ([]matcher, error) {
	if s.skip("{") {
		if !strings.HasSuffix(s.text, "}") {
			return nil, s.errorAt(s.end, `"}" is missing`)
		}
		s.end--
	}
	if s.skip("$") || s.skip("@") {
		if s.at < s.end && s.text[s.at] != '.' && s.text[s.at] != '[' {
			return nil, s.errorAt(s.at, `"." or "[" is missing`)
		}
	}
	var steps []matcher
	for s.at < s.end || len(steps) == 0 {
		step, err := s.step(len(steps) == 0)
		if err != nil {
			return nil, err
		}
		steps = append(steps, step)
	}
	return steps, nil
}

// step reads .name, ..name, .* or brackets. The first step needs no dot.
func (s *scanner) step(first bool) (m matcher, err error) {
	deep := s.skip("..")
	dot := deep || s.skip(".")
	switch {
	case s.at == s.end:
		return m, s.errorAt(s.at, "the name of a field is missing")
	case s.text[s.at] == '[':
		if dot && !deep && !first {
			return m, s.errorAt(s.at, "the name of a field is missing")
		}
		m, err = s.brackets()
	case s.skip("*"):
		m = matcher{kind: anyStep}
	case !dot && !first:
		return m, s.errorAt(s.at, `"." or "[" is missing`)
	default:
		m.kind = namedField
		m.name, err = s.name()
	}
	m.deep = deep
	return m, err
}

// name reads the name of a field up to the next dot or bracket. A backslash escapes the next character.
func (s *scanner) name() (string, error) {
	var name strings.Builder
	start := s.at
	for s.at < s.end {
		r, size := utf8.DecodeRuneInString(s.text[s.at:s.end])
		switch {
		case r == '.' || r == '[':
			if name.Len() == 0 {
				return "", s.errorAt(start, "the name of a field is missing")
			}
			return name.String(), nil
		case r == '\\':
			if s.at++; s.at == s.end {
				return "", s.errorAt(s.at-1, "no character after the backslash")
			}
			_, size = utf8.DecodeRuneInString(s.text[s.at:s.end])
		case unicode.IsSpace(r) || strings.ContainsRune(special+"<>|&!", r):
			return "", s.errorAt(s.at, "%q must be in brackets and quotes", r)
		}
		name.WriteString(s.text[s.at : s.at+size])
		s.at += size
	}
	return name.String(), nil
}

// brackets reads [*], [2], [name], ["name"], [=value], [key=value,...] or
// [?(@.key=="value")].
func (s *scanner) brackets() (m matcher, err error) {
	start := s.at
	s.skip("[")
	switch {
	case s.skip("*"):
		m = matcher{kind: anyStep}
	case s.skip("?("):
		m, err = s.filter()
	case s.skip("="):
		m.kind = setItem
		m.name, _, err = s.word()
	default:
		m, err = s.nameOrKeys()
	}
	if err != nil {
		return m, err
	}
	switch {
	case s.skip("]"):
		return m, nil
	case s.at == s.end:
		return m, s.errorAt(start, `"]" is missing`)
	}
	return m, s.errorAt(s.at, `"]" is missing before %q`, s.rune())
}

func (s *scanner) rune() rune {
	r, _ := utf8.DecodeRuneInString(s.text[s.at:s.end])
	return r
}

// nameOrKeys reads a name, an index or keys in brackets.
func (s *scanner) nameOrKeys() (m matcher, err error) {
	start := s.at
	name, quoted, err := s.word()
	switch {
	case err != nil:
		return m, err
	case s.at < s.end && s.text[s.at] == '=':
		s.at = start
		return s.keys()
	case s.at < s.end && s.text[s.at] == ',':
		return m, s.errorAt(s.at, "unions are not supported, use several paths")
	case quoted || !isNumeric(name):
		return matcher{kind: namedField, name: name}, nil
	case !isDigits(name):
		return m, s.errorAt(start, "%s is not an index; indexes start at 0, and slices are not supported", name)
	}
	index, err := strconv.Atoi(name)
	if err != nil {
		index = math.MaxInt // can only be the name of a field
	}
	return matcher{kind: indexOrName, name: name, index: index}, nil
}
