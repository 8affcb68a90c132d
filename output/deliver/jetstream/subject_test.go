package jetstream

import (
	"net/url"
	"strings"
	"testing"
	"testing/quick"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/output/deliver"
	"dwatch/watcher/event"
)

func message(group, resource, namespace, name string) *deliver.Message {
	return &deliver.Message{
		Resource: schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource},
		Identity: event.Identity{Namespace: namespace, Name: name},
	}
}

func TestSubject(t *testing.T) {
	for _, test := range []struct{ group, resource, namespace, name, want string }{
		{"", "pods", "default", "web-1", "d.core.pods.default.web-1"},
		{"apps", "deployments", "default", "web.example.com", "d.apps.deployments.default.web%2Eexample%2Ecom"},
		{"networking.k8s.io", "ingresses", "a_b", "x", "d.networking%2Ek8s%2Eio.ingresses.a_b.x"},
		{"", "nodes", "", "node:1", "d.core.nodes._.node:1"},
		{"core", "nodes", "_", "_", "d.%63ore.nodes.%5F.%5F"},
		{"c", "nodes", "__", "", "d.c.nodes.__._"},
		{"", "x", "n", "a b*>\x00\n%ü\xff", "d.core.x.n.a%20b%2A%3E%00%0A%25%C3%BC%FF"},
	} {
		if got := Subject("d", message(test.group, test.resource, test.namespace, test.name)); got != test.want {
			t.Errorf("got %s, want %s", got, test.want)
		}
	}
}

// TestSubjectReversible checks for arbitrary names that a subject has four tokens after the prefix, which can be unescaped to the
// original values.
func TestSubjectReversible(t *testing.T) {
	back := func(token, empty string) string {
		if token == empty {
			return ""
		}
		value, err := url.PathUnescape(token)
		if err != nil {
			t.Error(err)
		}
		return value
	}
	holds := func(group, resource, namespace, name string) bool {
		subject := Subject("a.b", message(group, resource, namespace, name))
		tokens := strings.Split(strings.TrimPrefix(subject, "a.b."), ".")
		return len(tokens) == 4 && !strings.ContainsAny(subject, " \t\r\n*>\x00") &&
			back(tokens[0], "core") == group && back(tokens[1], "_") == resource &&
			back(tokens[2], "_") == namespace && back(tokens[3], "_") == name
	}
	if err := quick.Check(holds, nil); err != nil {
		t.Error(err)
	}
	for _, odd := range []string{"", "_", "core", "%", "%2E", ".", "..", "*", ">", " ", "co.re"} {
		if !holds(odd, odd, odd, odd) {
			t.Errorf("the subject for %q can't be reversed", odd)
		}
	}
}

func TestCheckPrefix(t *testing.T) {
	for _, good := range []string{"dwatch", "events.prod-1", "a_b.C", "a.$b"} {
		if err := CheckPrefix(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{"", ".", "a.", ".a", "a..b", "a b", "a.*", ">", "a/b", "a\n", "ü", "$JS.API", "_INBOX", "_INBOX.x", "a\x7f"} {
		if CheckPrefix(bad) == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

func TestCovers(t *testing.T) {
	for subject, want := range map[string]bool{
		"a.b.>": true, "a.>": true, ">": true, "*.b.>": true, "a.*.>": true, "a.b.*.*.*.*": true, "a.b.*.*.*.>": true,
		"a.b": false, "a.b.*": false, "a.b.apps.>": false, "b.>": false, "a.b.*.*.*": false, "a.b.*.*.*.*.*": false, "a.b.*.*.*.*.>": false, "a.b.c.d.e.f": false,
	} {
		if covers(subject, "a.b.*.*.*.*") != want {
			t.Errorf("covers(%s): got %t, want %t", subject, !want, want)
		}
	}
}
