package main

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
)

// rule makes the proxy misbehave from add until remove.
type rule struct {
	// on selects the requests. nil means all.
	on func(query) bool
	// answer answers instead of the server, unless it is nil.
	answer http.HandlerFunc
	// before may change the request and the header of the answer. It may be nil.
	before func(http.ResponseWriter, *http.Request)
	// edit returns an editor for each body. It may be nil.
	edit func() editor

	hits *atomic.Int64 // number of selected requests
}

// add starts to apply a rule, until remove.
func (p *proxy) add(r rule) *rule {
	p.mu.Lock()
	defer p.mu.Unlock()
	added := &r
	added.hits = new(atomic.Int64)
	p.rules = append(p.rules, added)
	return added
}

func (p *proxy) remove(r *rule) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = slices.DeleteFunc(p.rules, func(other *rule) bool { return other == r })
}

// rulesFor returns the rules for a request, in the order in which they were added.
func (p *proxy) rulesFor(q query) []*rule {
	p.mu.Lock()
	defer p.mu.Unlock()
	var found []*rule
	for _, r := range p.rules {
		if r.on == nil || r.on(q) {
			r.hits.Add(1)
			found = append(found, r)
		}
	}
	return found
}

// touch adds an editor to each open watch. It returns their number.
func (p *proxy) touch(now bool, edit func() editor) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	for b := range p.bodies {
		b.add(edit(), now)
	}
	return len(p.bodies)
}

// query classifies a request.
type query struct {
	kind kind
	path string
}

type kind int

const (
	other  kind = iota // discovery, access reviews
	list               // the first page of a list
	page               // a further page
	syncs              // a watch that starts with the existing objects
	resume             // a watch that resumes at a resourceVersion
)

func (q query) isWatch() bool { return q.kind == syncs || q.kind == resume }

func isAny(kinds ...kind) func(query) bool {
	return func(q query) bool {
		for _, k := range kinds {
			if q.kind == k {
				return true
			}
		}
		return false
	}
}

func queryOf(r *http.Request) query {
	values, path := r.URL.Query(), r.URL.Path
	q := query{path: path}
	parts := len(strings.Split(strings.Trim(path, "/"), "/"))
	switch {
	case r.Method != http.MethodGet: // an access review
	case values.Get("sendInitialEvents") == "true":
		q.kind = syncs
	case values.Get("watch") != "":
		q.kind = resume
	case values.Get("continue") != "":
		q.kind = page
	case strings.HasPrefix(path, "/api/") && parts > 2, strings.HasPrefix(path, "/apis/") && parts > 3:
		q.kind = list
	}
	return q
}
