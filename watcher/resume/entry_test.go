package resume

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dwatch/watcher/event"
)

// parseEntry parses an entry as in the file, but with commas between the states.
func parseEntry(t *testing.T, text string) entry {
	t.Helper()
	if text == "" {
		return entry{}
	}
	e, ok := decodeEntry([]byte(strings.ReplaceAll(text, ",", "\n")))
	if !ok {
		t.Fatalf("%q is not an entry", text)
	}
	return e
}

func TestEntry(t *testing.T) {
	announced := func(s state) func(entry) entry { return func(e entry) entry { return e.announce(s) } }
	reported := func(kind event.Type, s state) func(entry) entry {
		return change{kind: kind, state: s}.reported
	}
	taken := func(older string) func(entry) entry {
		return func(e entry) entry { return e.takeOver(parseEntry(t, older)) }
	}
	for name, test := range map[string]struct {
		before string
		then   func(entry) entry
		want   string
	}{
		"new":                               {"", announced("a 1"), "?a 1"},
		"and reported":                      {"?a 1", reported(event.Added, "a 1"), "a 1"},
		"changed":                           {"a 1", reported(event.Modified, "a 2"), "a 2"},
		"deleted":                           {"a 1", reported(event.Deleted, "a 2"), ""},
		"recreated":                         {"a 1", announced("b 2"), "?b 2,a 1"},
		"recreated twice":                   {"?b 2,a 1", announced("c 3"), "?c 3,b 2,a 1"},
		"recreated, the deletion reported":  {"?b 2,a 1", reported(event.Deleted, "a 1"), "?b 2"},
		"recreated, both reported":          {"?b 2", reported(event.Added, "b 2"), "b 2"},
		"unconfirmed, and again":            {"?a 1", announced("a 2"), "?a 2"},
		"unconfirmed, recreated, and again": {"?b 2,a 1", announced("b 3"), "?b 3,a 1"},
		"unconfirmed, and deleted":          {"?a 1", reported(event.Deleted, "a 1"), ""},
		"a deletion of something else":      {"b 2", reported(event.Deleted, "a 1"), "b 2"},
		"a deletion of an unknown object":   {"", reported(event.Deleted, "a 1"), ""},
		"taken over":                        {"", taken("?b 2,a 1"), "?b 2,a 1"},
		"taken over, and known":             {"a 2", taken("?a 1"), "a 2"},
		"taken over, and recreated":         {"?b 2", taken("a 1"), "?b 2,a 1"},
		"taken over, and again":             {"?a 2", taken("?b 1,a 1"), "?a 2,b 1"},
		"without UIDs":                      {" 1", reported(event.Modified, " 2"), " 2"},
	} {
		t.Run(name, func(t *testing.T) {
			got := test.then(parseEntry(t, test.before))
			if text := strings.ReplaceAll(string(got.encode()), "\n", ","); len(got.states) > 0 && text != test.want || len(got.states) == 0 && test.want != "" {
				t.Errorf("%q, want %q", text, test.want)
			}
		})
	}
}

func TestEntryEach(t *testing.T) {
	var got []string
	parseEntry(t, "?c 3 Zg,b 2,a 1").each("ns", "web", func(o event.ReportedObject) { got = append(got, fmt.Sprint(o)) })
	if diff := cmp.Diff([]string{"{ns web a 1 true }", "{ns web b 2 true }", "{ns web c 3 true Zg}"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestDecode(t *testing.T) {
	for _, wrong := range []string{"", "a", "?", "a 1\n", "a 1\nb 2", "?a 1\nb"} {
		if e, ok := decodeEntry([]byte(wrong)); ok {
			t.Errorf("%q was decoded as %+v", wrong, e)
		}
	}
	for _, wrong := range []string{"", "a", "a/"} {
		if namespace, name, ok := decodeKey([]byte(wrong)); ok {
			t.Errorf("%q was decoded as name %q in namespace %q", wrong, name, namespace)
		}
	}
	if namespace, name, ok := decodeKey(encodeKey("", "node")); !ok || namespace != "" || name != "node" {
		t.Errorf("%q in %q", name, namespace)
	}
}
