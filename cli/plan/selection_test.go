package plan

import (
	"encoding/json"
	"testing"

	"dwatch/cli/fail"
	"dwatch/watcher/event"
)

// selectionArgs are arguments and selectors of a command line.
type selectionArgs struct {
	request        Request
	labels, fields string
}

func (s selectionArgs) selection(t testing.TB) event.Selection {
	t.Helper()
	s.request.LabelSelector, s.request.FieldSelector = s.labels, s.fields
	return first(t, s.request).Selection
}

// TestSelectionSame checks that equivalent command lines have equal selections.
func TestSelectionSame(t *testing.T) {
	in := func(r Request, namespaces ...string) Request {
		r.Namespaces = namespaces
		return r
	}
	for want, ways := range map[string][]selectionArgs{
		"deployments.apps in namespace home": {
			{request: of("deploy")}, {request: of("Deployment")}, {request: of("deployments.v1.apps")}, {request: of("deploy", "deployments")},
			{request: in(of("deploy"), "home")}, {request: of("deploy", "deploy/web")}, {request: of("deploy/web", "deployments")},
		},
		"configmaps, deployments.apps/web in namespaces a, b": {
			{request: in(of("deploy/web", "cm"), "b", "a")}, {request: in(of("cm", "deployment.apps/web", "cm"), "a", "b")},
		},
		"pods in all namespaces": {
			{request: everywhere(of("pods"))}, {request: everywhere(in(of("po"), "a"))},
		},
		"nodes": {
			{request: of("no")}, {request: in(of("nodes"), "a")}, {request: everywhere(of("Node"))},
		},
		"nodes, pods in namespace home": {
			{request: of("no", "pods")},
		},
		"all without pods, secrets in namespace home": {
			{request: without(of("all"), "secrets", "Pods")}, {request: without(of("all"), "pods", "secrets", "pods")},
		},
		"nonesuches.example.com in namespace home": {
			{request: waiting(of("nonesuches.example.com"))}, {request: waiting(of("Nonesuches.example.com"))},
		},
		"pods in namespace home, with labels a in (1,2),b=2,c!=3,d, with fields x!=z,x=y": {
			{of("pods"), "b==2,a in (2,1),c!=3,d", "x==y,x!=z"}, {of("pods"), "d,c!=3,a in (1,2,1),b=2", "x!=z,x=y"},
		},
	} {
		for _, way := range ways {
			got, same := way.selection(t), ways[0].selection(t)
			if got.String() != want {
				t.Errorf("%+v: %q, want %q", way, got, want)
			}
			if !got.Equal(same) || text(t, got) != text(t, same) {
				t.Errorf("%+v: %s, want %s", way, text(t, got), text(t, same))
			}
		}
	}
}

func TestSelectionDifferent(t *testing.T) {
	b := of("pods")
	b.Namespaces = []string{"b"}
	ways := []selectionArgs{
		{request: of("pods")}, {request: of("pods/a")}, {request: of("pods/a", "pods/b")}, {request: of("pods", "cm")},
		{request: b}, {request: everywhere(of("pods"))},
		{request: of("all")}, {request: without(of("all"), "pods")}, {request: without(of("all"), "jobs")},
		{of("pods"), "a=1", ""}, {of("pods"), "a!=1", ""}, {of("pods"), "a in (1,2)", ""}, {of("pods"), "a", ""}, {of("pods"), "!a", ""},
		{of("pods"), "", "a=1"}, {of("pods"), "", "a!=1"}, {of("pods"), "", "metadata.name=a"},
	}
	seen := map[string]selectionArgs{}
	for _, way := range ways {
		s := text(t, way.selection(t))
		if other, again := seen[s]; again {
			t.Errorf("selection %s is the same for %+v and %+v", s, way, other)
		}
		seen[s] = way
	}
}

// TestSelectionJSON checks that a selection is equal after encoding and decoding it.
func TestSelectionJSON(t *testing.T) {
	s := selectionArgs{without(of("pods/a", "all"), "jobs"), "a=1", "b=2"}.selection(t)
	var read event.Selection
	if err := json.Unmarshal([]byte(text(t, s)), &read); err != nil || !read.Equal(s) {
		t.Errorf("%+v, want %+v (%v)", read, s, err)
	}
	const want = `{"resources":[{"resource":"all"},{"resource":"pods","name":"a"}],"exclude":["jobs"],"namespaces":["home"],"labels":"a=1","fields":"b=2"}`
	if got := text(t, s); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestInvalidSelectors(t *testing.T) {
	for _, wrong := range []selectionArgs{{of("pods"), "a=b=c", ""}, {of("pods"), "", "a"}} {
		wrong.request.LabelSelector, wrong.request.FieldSelector = wrong.labels, wrong.fields
		_, err := planner(t, wrong.request).InitialPlan(t.Context())
		if fail.ExitCode(err) != fail.ExitUsage {
			t.Errorf("%+v: got error %v, want a usage error", wrong, err)
		}
	}
}

func text(t testing.TB, s event.Selection) string {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
