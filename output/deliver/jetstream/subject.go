package jetstream

import (
	"errors"
	"strings"

	"dwatch/output/deliver"
)

// What stands for the group of the core resources, and for the namespace of what has
// none. A group or a namespace that is called so is escaped.
const (
	coreGroup   = "core"
	noNamespace = "_"
)

// Subject is PREFIX.GROUP.RESOURCE.NAMESPACE.NAME of an object. Letters, digits, '-', '_'
// and ':' stand for themselves, every other byte is escaped as in a URL: %2E is a dot.
// Different objects have different subjects.
func Subject(prefix string, m *deliver.Message) string {
	var b strings.Builder
	b.WriteString(prefix)
	for _, t := range []struct{ value, empty string }{
		{m.Resource.Group, coreGroup},
		{m.Resource.Resource, noNamespace},
		{m.Namespace, noNamespace},
		{m.Name, noNamespace},
	} {
		b.WriteByte('.')
		writeToken(&b, t.value, t.empty)
	}
	return b.String()
}

// writeToken writes a value as one token. empty stands for no value.
func writeToken(b *strings.Builder, value, empty string) {
	if value == "" {
		b.WriteString(empty)
		return
	}
	for i := range len(value) {
		if c := value[i]; isPlain(c) && (i > 0 || value != empty) {
			b.WriteByte(c)
		} else {
			const digits = "0123456789ABCDEF"
			b.Write([]byte{'%', digits[c>>4], digits[c&15]})
		}
	}
}

func isPlain(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_' || c == ':'
}

// CheckPrefix finds what a subject can't begin with.
func CheckPrefix(prefix string) error {
	if prefix == "" {
		return errors.New("there is none")
	}
	for token := range strings.SplitSeq(prefix, ".") {
		switch {
		case token == "":
			return errors.New("no part between dots may be empty")
		case strings.ContainsFunc(token, func(c rune) bool { return c > 0x7e || c < 0x80 && c != '$' && c != '%' && !isPlain(byte(c)) }):
			return errors.New("it takes letters, digits, - and _, and dots between")
		}
	}
	if strings.HasPrefix(prefix, "$") || prefix == "_INBOX" || strings.HasPrefix(prefix, "_INBOX.") {
		return errors.New("what begins with $ or _INBOX. belongs to the server")
	}
	return nil
}
