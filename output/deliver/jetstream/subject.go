package jetstream

import (
	"errors"
	"fmt"
	"strings"

	"dwatch/output/deliver"
	"dwatch/output/deliver/cloudevent"
)

// coreGroup and noNamespace are the tokens for the group of core resources and for other missing values, such as the namespace of a
// cluster-scoped object. Values that equal them are escaped.
const (
	coreGroup   = "core"
	noNamespace = "_"
)

// Subject returns the subject for the object of a message: PREFIX.GROUP.RESOURCE.NAMESPACE.NAME or, if the message has a cluster,
// PREFIX.CLUSTER.GROUP.RESOURCE.NAMESPACE.NAME. Letters, digits, '-', '_' and ':' are unchanged. Every other byte is escaped as in a
// URL: %2E is a dot. Different objects have different subjects.
func Subject(prefix string, m *deliver.Message) string {
	if m.Cluster != "" {
		prefix += "." + token(m.Cluster, noNamespace)
	}
	return prefix + "." + token(m.Resource.Group, coreGroup) + "." + token(m.Resource.Resource, noNamespace) +
		"." + token(m.Namespace, noNamespace) + "." + token(m.Name, noNamespace)
}

// token returns a value as a token of a subject. empty is the token for an empty value.
func token(value, empty string) string {
	switch value {
	case "":
		return empty
	case empty: // the value must not look like an empty one
		return fmt.Sprintf("%%%02X", value[0]) + value[1:]
	}
	return cloudevent.PercentEncode(value, isPlain)
}

func isPlain(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_' || c == ':'
}

// CheckPrefix returns an error if a prefix is not valid for subjects.
func CheckPrefix(prefix string) error {
	if prefix == "" {
		return errors.New("there is none")
	}
	for token := range strings.SplitSeq(prefix, ".") {
		switch {
		case token == "":
			return errors.New("no part between dots may be empty")
		case strings.ContainsFunc(token, func(c rune) bool { return c > 0x7e || c < 0x80 && c != '$' && c != '%' && !isPlain(byte(c)) }):
			return errors.New("use letters, digits, - and _, separated by dots")
		}
	}
	if strings.HasPrefix(prefix, "$") || prefix == "_INBOX" || strings.HasPrefix(prefix, "_INBOX.") {
		return errors.New("prefixes that begin with $ or _INBOX. are reserved for the server")
	}
	return nil
}
