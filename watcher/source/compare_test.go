package source

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
)

// revisions is a resource whose objects are known at each revision: names and the revisions at which they were written.
type revisions struct {
	dynamic.ResourceInterface
	objects  func(revision int) map[string]int
	answers  func(revision int) string // the resourceVersion of a list at a revision; nil means the revision itself
	isPaged  bool
	requests int
}

func (r *revisions) List(_ context.Context, options metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	r.requests++
	revision, err := strconv.Atoi(options.ResourceVersion)
	if err != nil || options.ResourceVersionMatch != metav1.ResourceVersionMatchExact {
		return nil, fmt.Errorf("got the options %+v, want an exact resourceVersion", options)
	}
	list := &unstructured.UnstructuredList{}
	list.SetResourceVersion(options.ResourceVersion)
	if r.answers != nil {
		list.SetResourceVersion(r.answers(revision))
	}
	if r.isPaged {
		list.SetContinue("more")
	}
	for _, name := range []string{"a", "b", "c"} {
		if written, exists := r.objects(revision)[name]; exists {
			o := unstructured.Unstructured{}
			o.SetName(name)
			o.SetResourceVersion(strconv.Itoa(written))
			list.Items = append(list.Items, o)
		}
	}
	return list, nil
}

// TestCompare checks that lists at each revision prove that nothing changed, and that they find every change, also of an
// object that exists neither before nor after it.
func TestCompare(t *testing.T) {
	always := func(objects map[string]int) func(int) map[string]int {
		return func(int) map[string]int { return objects }
	}
	quiet := always(map[string]int{"a": 3, "b": 4})
	for name, test := range map[string]struct {
		server   revisions
		from, to string
		known    []string
		want     bool
		requests int
	}{
		"nothing changed":           {server: revisions{objects: quiet}, from: "10", to: "15", want: true, requests: 6},
		"objects known":             {server: revisions{objects: quiet}, from: "10", to: "15", known: []string{"/a//3", "/b//4"}, want: true, requests: 5},
		"no objects":                {server: revisions{objects: always(nil)}, from: "10", to: "12", want: true, requests: 3},
		"no objects, known":         {server: revisions{objects: always(nil)}, from: "10", to: "12", known: []string{}, want: true, requests: 2},
		"known objects have gone":   {server: revisions{objects: quiet}, from: "10", to: "15", known: []string{"/a//3"}, requests: 1},
		"as many as allowed":        {server: revisions{objects: quiet}, from: "10", to: "20", want: true, requests: 11},
		"too many revisions":        {server: revisions{objects: quiet}, from: "10", to: "21"},
		"an older server":           {server: revisions{objects: quiet}, from: "10", to: "9"},
		"nothing written":           {server: revisions{objects: quiet}, from: "10", to: "10"},
		"no number":                 {server: revisions{objects: quiet}, from: "10", to: "x"},
		"no answer":                 {server: revisions{objects: quiet}, from: "10", to: ""},
		"more objects":              {server: revisions{objects: quiet, isPaged: true}, from: "10", to: "12", requests: 1},
		"another revision answered": {server: revisions{objects: quiet, answers: func(r int) string { return strconv.Itoa(max(r, 12)) }}, from: "10", to: "12", requests: 1},
		"a change": {server: revisions{objects: func(r int) map[string]int {
			if r < 13 {
				return map[string]int{"a": 3}
			}
			return map[string]int{"a": 13}
		}}, from: "10", to: "15", requests: 4},
		"a deletion": {server: revisions{objects: func(r int) map[string]int {
			if r < 15 {
				return map[string]int{"a": 3}
			}
			return nil
		}}, from: "10", to: "15", requests: 6},
		"created and deleted": {server: revisions{objects: func(r int) map[string]int {
			if r == 13 {
				return map[string]int{"a": 3, "b": 4, "c": 13}
			}
			return map[string]int{"a": 3, "b": 4}
		}}, from: "10", to: "15", requests: 4},
	} {
		t.Run(name, func(t *testing.T) {
			s := &stream{resourceClient: resourceClient{ResourceInterface: &test.server}}
			got := s.compare(t.Context(), comparison{from: test.from, objects: test.known}, test.to, time.Now())
			if isProven := got.to != ""; isProven != test.want || isProven && (got.from != test.from || got.to != test.to) {
				t.Errorf("got %+v, want a proof: %t", got, test.want)
			}
			if test.server.requests != test.requests {
				t.Errorf("got %d requests, want %d", test.server.requests, test.requests)
			}
		})
	}
}
