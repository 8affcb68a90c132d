package complete

import (
	"context"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/mapper"
)

const (
	// maxNames is how many names of one type in one namespace are enough, and
	// how many the server is asked for at once.
	maxNames = 500
	// maxPages bounds the search for names that begin with what is typed: the
	// server can't do it.
	maxPages = 10
)

// names returns the names that typed may become, of objects of types where the
// flags say. Names that are given already are left out.
func (s server) names(ctx context.Context, types, given []mapper.Argument, typed string) []string {
	targets, err := s.Targets(ctx, s.cluster, s.mapper, types)
	if err != nil {
		return nil
	}
	taken := s.taken(ctx, given)
	found := make([][]string, len(targets))
	var all sync.WaitGroup
	for i, t := range targets {
		all.Go(func() {
			names := s.list(ctx, t.Resource(), t.Namespace, typed)
			found[i] = slices.DeleteFunc(names, func(n string) bool { return slices.Contains(taken[t.Resource()], n) })
		})
	}
	all.Wait()
	return slices.Concat(found...)
}

// taken returns the names that are given, by resource.
func (s server) taken(ctx context.Context, given []mapper.Argument) map[schema.GroupVersionResource][]string {
	taken := make(map[schema.GroupVersionResource][]string)
	for _, g := range given {
		if g.Name == "" {
			continue
		}
		answer, err := s.mapper.Resolve(ctx, g.Resource)
		if err != nil {
			continue // it is wrong, but somewhere else on the line
		}
		for _, m := range answer.Mappings {
			taken[m.Resource] = append(taken[m.Resource], g.Name)
		}
	}
	return taken
}

// list returns the plain names that begin with typed, in one namespace or in all. Of
// very many it returns some.
func (s server) list(ctx context.Context, resource schema.GroupVersionResource, namespace, typed string) []string {
	var names []string
	options := metav1.ListOptions{Limit: maxNames}
	for range maxPages {
		page, err := s.objects.Resource(resource).Namespace(namespace).List(ctx, options)
		if err != nil {
			return nil
		}
		for _, object := range page.Items {
			if strings.HasPrefix(object.Name, typed) && isPlain(object.Name) {
				names = append(names, object.Name)
			}
		}
		if options.Continue = page.Continue; options.Continue == "" {
			return names
		}
		if len(names) >= maxNames {
			break
		}
	}
	s.cut.Store(true)
	return names
}
