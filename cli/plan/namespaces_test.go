package plan

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dwatch/watcher/event"
)

// TestChosenNamespaces checks the selection of existing namespaces by patterns and labels.
func TestChosenNamespaces(t *testing.T) {
	list := func(context.Context) ([]Namespace, error) {
		return []Namespace{{"team-a", "1", map[string]string{"team": "shop"}}, {"team-b", "2", nil}, {"other", "3", map[string]string{"team": "shop"}}}, nil
	}
	for name, test := range map[string]struct {
		request Request
		where   []string
	}{
		"a pattern":        {Request{NamespacePatterns: []string{"team-*"}}, []string{"team-a", "team-b"}},
		"several":          {Request{NamespacePatterns: []string{"*-a", "o?her"}}, []string{"other", "team-a"}},
		"and named":        {Request{NamespacePatterns: []string{"team-*"}, Namespaces: []string{"team-a", "none"}}, []string{"none", "team-a", "team-b"}},
		"none":             {Request{NamespacePatterns: []string{"x-*"}}, nil},
		"labels":           {Request{NamespaceSelector: "team=shop"}, []string{"other", "team-a"}},
		"without labels":   {Request{NamespaceSelector: "!team"}, []string{"team-b"}},
		"all, nonetheless": {Request{NamespacePatterns: []string{"team-*"}, AllNamespaces: true}, []string{""}},
	} {
		r := of("pods")
		r.NamespacePatterns, r.Namespaces, r.NamespaceSelector, r.AllNamespaces = test.request.NamespacePatterns, test.request.Namespaces, test.request.NamespaceSelector, test.request.AllNamespaces
		r.ListNamespaces = list
		p := first(t, r)
		var where []string
		for _, target := range p.Targets {
			where = append(where, target.Namespace)
		}
		slices.Sort(where)
		if diff := cmp.Diff(test.where, where); diff != "" {
			t.Errorf("%s: namespaces: -want +got:\n%s", name, diff)
		}
		if p.IsDynamic() == r.AllNamespaces || p.MatchesNoNamespace() != (test.where == nil) {
			t.Errorf("%s: IsDynamic is %v, MatchesNoNamespace is %v", name, p.IsDynamic(), p.MatchesNoNamespace())
		}
		found := event.Resolution{Targets: p.Targets, Namespaces: p.Namespaces}
		for _, n := range []string{"team-a", "team-b", "other", "gone"} {
			key := p.keyIn(n)
			outside, exists := found.NamespaceExcluded(key)
			want := !r.AllNamespaces && !slices.Contains(test.where, n)
			if outside != want || outside && exists == (n == "gone") {
				t.Errorf("%s: namespace %s: got excluded %v, exists %v", name, n, outside, exists)
			}
			if outside && found.IsMissing(key) {
				t.Errorf("%s: the resource is missing in namespace %s, which is not selected", name, n)
			}
		}
	}
}

func (p *Plan) keyIn(namespace string) event.Key {
	key := event.Key{Namespace: namespace}
	key.Resource.Resource = "pods"
	return key
}
