package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// recoverWithin is how long dwatch may take to print changes after a fault. dwatch waits up to half a minute between two
// attempts and client-go a minute, and it may take minutes to notice that a watch is dead.
const recoverWithin = 4 * time.Minute

// site is one cluster of an arena: its server, the proxy in front of it, its writers and its figures. The sites of an
// arena have only dwatch in common.
type site struct {
	*arena
	// name is the name of its context, which dwatch reports as the cluster. It is empty if there is only one site.
	name    string
	server  *server
	client  dynamic.Interface
	proxy   *proxy
	rng     *rand.Rand
	writers []*writer
	figures figures
}

func (a *arena) newSite(ctx context.Context, name string, server *server) (*site, error) {
	s := &site{arena: a, name: name, server: server, rng: a.fork(), figures: newFigures(name, a.seed)}
	var err error
	if s.client, err = dynamic.NewForConfig(server.config); err != nil {
		return nil, err
	}
	if err := s.makeNamespaces(ctx); err != nil {
		return nil, err
	}
	tokens := credentials{path: filepath.Join(a.dir, "token"+name+".json")}
	if err := tokens.renew(); err != nil {
		return nil, err
	}
	if s.proxy, err = startProxy(server.config, tokens); err != nil {
		return nil, err
	}
	s.hireWriters(uint64(len(a.sites)))
	return s, nil
}

func (s *site) makeNamespaces(ctx context.Context) error {
	namespaces := s.client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"})
	for _, name := range s.namespaces {
		u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace"}}
		u.SetName(name)
		if _, err := namespaces.Create(ctx, u, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return nil
}

// hireWriters creates the writers of the site. number is part of their seeds, so that sites differ in their changes. The
// names of the objects are the same in all sites.
func (s *site) hireWriters(number uint64) {
	for _, r := range resources {
		for _, namespace := range s.namespaces {
			s.writers = append(s.writers, &writer{
				client:    s.client.Resource(r.GroupVersionResource).Namespace(namespace),
				resource:  r,
				namespace: namespace,
				label:     s.label,
				rng:       rand.New(rand.NewPCG(s.seed, number<<32+uint64(len(s.writers)+1))),
				pace:      s.pace,
				known:     map[string]acknowledged{},
			})
		}
	}
}

// inject injects a fault, and reports whether it hit anything.
func (s *site) inject(ctx context.Context, f fault, window time.Duration) (bool, error) {
	for _, d := range s.watchers {
		d.records[s.name].meets(f.name)
	}
	hit, err := f.inject(&injection{ctx: ctx, proxy: s.proxy, window: window, server: s.server, watchers: s.watchers})
	if err != nil {
		return hit, fmt.Errorf("%s: %w", f.name, err)
	}
	if hit {
		s.figures.injected(f.name)
	}
	return hit, nil
}

// recovered waits until each dwatch has printed a new event of every resource in every namespace, and adds the time that
// this took to the figures.
func (s *site) recovered(name string) {
	over := time.Now()
	for _, d := range s.watchers {
		s.figures.silent(name, s.awaitLines(d.records[s.name], over))
	}
}

// awaitLines waits until r has a line of every resource in every namespace since the end of the fault. It returns how
// long that took. A timeout is noted as a loss.
func (s *site) awaitLines(r *record, over time.Time) time.Duration {
	back := func() bool {
		for _, w := range s.writers {
			if at := r.last[place{kind: w.kind, namespace: w.namespace}]; !at.After(over) {
				return false
			}
		}
		return true
	}
	if !r.await(recoverWithin, back) {
		r.note(lost, "nothing of some resource within %v", recoverWithin)
	}
	return time.Since(over)
}
