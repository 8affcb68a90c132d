package jetstream

import (
	"errors"
	"fmt"
	"strings"

	"dwatch/output/deliver"
	"dwatch/output/deliver/cloudevent"
)

// What stands for the group of the core resources, and for the namespace of what has
// none. A group or a namespace that is called so is escaped.
const (
	coreGroup   = "core"
	noNamespace = "_"
)

// Subject is PREFIX.GROUP.RESOURCE.NAMESPACE.NAME of an object, with several clusters
// PREFIX.CLUSTER.GROUP.RESOURCE.NAMESPACE.NAME. Letters, digits, '-', '_'
// and ':' stand for themselves, every other byte is escaped as in a URL: %2E is a dot.
// Different objects have different subjects.
func Subject(prefix string, m *deliver.Message) string {
	if m.Cluster != "" {
		prefix += "." + token(m.Cluster, noNamespace)
	}
	return prefix + "." + token(m.Resource.Group, coreGroup) + "." + token(m.Resource.Resource, noNamespace) +
		"." + token(m.Namespace, noNamespace) + "." + token(m.Name, noNamespace)
}

// token is a value as one token. empty stands for no value.
func token(value, empty string) string {
	switch value {
	case "":
		return empty
	case empty: // a value that looks like none
		return fmt.Sprintf("%%%02X", value[0]) + value[1:]
	}
	return cloudevent.PercentEncode(value, isPlain)
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
