package page

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"dwatch/output/inventory"
	"dwatch/watcher/object/expression"
)

const (
	// maxSearches is the maximum number of concurrent searches in all objects, and of those in changed objects. It leaves
	// processor time for the delivery of events. maxWait is how long a search in all objects waits for its turn.
	maxSearches   = 2
	maxWait       = time.Second
	maxQuestion   = 5 * time.Second // timeout of a search
	maxExpression = 8 << 10         // bytes
	maxKeys       = 5000            // in a message
)

// search waits up to maxWait for a turn to search in all objects. The caller must call release when it is done.
func (h *Hub) search(ctx context.Context) (release func(), err error) {
	return takeTurn(ctx, h.searches)
}

// takeTurn acquires a semaphore within maxWait. The caller must call release when it is done.
func takeTurn(ctx context.Context, turns chan struct{}) (release func(), err error) {
	select {
	case turns <- struct{}{}:
		return sync.OnceFunc(func() { <-turns }), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(maxWait):
		return nil, errors.New("there are too many searches at the same time: try again")
	}
}

// question is a filter expression of a viewer. The viewer gets the keys of all matching objects, and changes of that set.
type question struct {
	id         int64
	text       string
	expression *expression.Expression
	// holds has the keys of the matching objects.
	holds map[string]bool
}

func compile(text string) (*expression.Expression, error) {
	if len(text) > maxExpression {
		return nil, fmt.Errorf("the expression is longer than %d bytes", maxExpression)
	}
	return expression.CompileForObjects(text)
}

var errTooLong = fmt.Errorf("the expression takes more than %s for all objects", maxQuestion)

// evaluate calls take with the result of an expression for each state, until take returns an error. holds is false if the
// evaluation fails. evaluate returns errTooLong after maxQuestion.
func evaluate(ctx context.Context, x *expression.Expression, now time.Time, states []*inventory.State, take func(s *inventory.State, holds bool) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, maxQuestion, errTooLong)
	defer cancel()
	for _, s := range states {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		holds, err := x.MatchesObject(s.Entry.Cluster, s.Object, now)
		if err := take(s, holds && err == nil); err != nil {
			return err
		}
	}
	return nil
}

// ask answers a question of the viewer. Later turns send changes of the answer. An empty expression ends that.
func (v *viewer) ask(ctx context.Context, q *question) error {
	v.question = nil
	if q.text == "" {
		return v.answer(ctx, q, []string{}, nil)
	}
	keys, err := v.findAll(ctx, q)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err == nil {
		v.question = q
	}
	return v.answer(ctx, q, keys, err)
}

// findAll returns the keys of the objects that match a question. It sends pings while it searches.
func (v *viewer) findAll(ctx context.Context, q *question) (keys []string, err error) {
	if q.expression, err = compile(q.text); err != nil {
		return nil, err
	}
	release, err := v.search(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	all, err := v.inventory.ListAt(inventory.Now, nil)
	if err != nil {
		return nil, err
	}
	q.holds = map[string]bool{}
	err = evaluate(ctx, q.expression, v.clock(), all, func(s *inventory.State, holds bool) error {
		if holds {
			q.holds[s.Entry.ID] = true
			keys = append(keys, s.Entry.ID)
		}
		select {
		case <-v.tick:
			return v.ping(ctx)
		default:
			return nil
		}
	})
	return keys, err
}

// answer sends the keys in messages of at most maxKeys, or the error if wrong is not nil.
func (v *viewer) answer(ctx context.Context, q *question, keys []string, wrong error) error {
	m := whereMessage{Type: "where", ID: q.id, Seq: v.at}
	if wrong != nil {
		keys, m.Error = nil, clip(wrong.Error(), maxValue)
	}
	for !m.Last {
		m.Keys = append([]string{}, keys[:min(len(keys), maxKeys)]...)
		keys = keys[len(m.Keys):]
		m.Last = len(keys) == 0
		if err := v.to.send(ctx, encode(m)); err != nil {
			return err
		}
	}
	return nil
}

// awaitTurn waits for a turn to search in changed objects. It sends pings while it waits.
func (v *viewer) awaitTurn(ctx context.Context) error {
	for {
		select {
		case v.matchers <- struct{}{}:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-v.tick:
			if err := v.ping(ctx); err != nil {
				return err
			}
		}
	}
}

// matches sends the keys that entries added to and removed from the answer to the viewer's question. Viewers remove deleted
// objects themselves.
func (v *viewer) matches(ctx context.Context, entries []*entry) error {
	q := v.question
	if q == nil || len(entries) == 0 {
		return nil
	}
	seen := map[string]bool{}
	for _, e := range entries {
		if e.key != "" {
			seen[e.key] = true
		}
	}
	m := matchesMessage{Type: "matches", ID: q.id, Seq: v.at, In: []string{}, Out: []string{}}
	if err := v.awaitTurn(ctx); err != nil {
		return err
	}
	err := evaluate(ctx, q.expression, v.clock(), v.inventory.ExistingByID(slices.Collect(maps.Keys(seen))), func(s *inventory.State, holds bool) error {
		key := s.Entry.ID
		delete(seen, key)
		switch {
		case holds && !q.holds[key]:
			q.holds[key] = true
			m.In = append(m.In, key)
		case !holds && q.holds[key]:
			delete(q.holds, key)
			m.Out = append(m.Out, key)
		}
		return nil
	})
	<-v.matchers
	for key := range seen { // deleted objects
		delete(q.holds, key)
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		v.question = nil
		return v.answer(ctx, q, nil, err)
	case len(m.In)+len(m.Out) == 0:
		return nil
	}
	return v.to.send(ctx, encode(m))
}
