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
	// maxSearches is how many look at all objects at the same time, and how many at what
	// changed: the stream has its share of the machine. maxWait is how long another one
	// waits for the former.
	maxSearches = 2
	maxWait     = time.Second
	// maxQuestion is how long it may take to look at all objects.
	maxQuestion = 5 * time.Second
	// maxExpression is how many bytes an expression has at most.
	maxExpression = 8 << 10
	// maxKeys is how many keys a message has at most.
	maxKeys = 5000
)

// search waits for its turn to look at all objects, but not for long; release ends it.
func (h *Hub) search(ctx context.Context) (release func(), err error) {
	late := time.NewTimer(maxWait)
	defer late.Stop()
	select {
	case h.searches <- struct{}{}:
		return sync.OnceFunc(func() { <-h.searches }), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-late.C:
		return nil, errors.New("there are too many searches at the same time: try again")
	}
}

// question is an expression that a viewer wants to know of which objects holds.
type question struct {
	id         int64
	text       string
	expression *expression.Expression
	// holds has the keys of those of which it does.
	holds map[string]bool
}

// compile reads the expression of a viewer.
func compile(text string) (*expression.Expression, error) {
	if len(text) > maxExpression {
		return nil, fmt.Errorf("the expression is longer than %d bytes", maxExpression)
	}
	return expression.CompileForObjects(text)
}

// errTooLong: an expression took too long for all objects.
var errTooLong = fmt.Errorf("the expression takes more than %s for all objects", maxQuestion)

// evaluate calls take with what an expression says of each state; for one of which it
// can't be evaluated it does not hold.
func evaluate(ctx context.Context, x *expression.Expression, states []*inventory.State, take func(s *inventory.State, holds bool) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, maxQuestion, errTooLong)
	defer cancel()
	return inventory.Where(ctx, x, states, func(s *inventory.State, holds bool, err error) error { return take(s, holds && err == nil) })
}

// ask answers a question of the viewer, and keeps the answer up to date from then on.
func (v *viewer) ask(ctx context.Context, q *question) error {
	v.question = nil
	m := whereMessage{Type: "where", ID: q.id, Seq: v.at, Keys: []string{}}
	if q.text == "" {
		m.Last = true
		return v.to.send(ctx, m.Type, 0, encode(m))
	}
	holds := map[string]bool{}
	x, err := compile(q.text)
	if err == nil {
		err = v.findAll(ctx, x, func(key string) {
			holds[key] = true
			m.Keys = append(m.Keys, key)
		})
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return v.refuse(ctx, q.id, err)
	}
	q.expression, q.holds = x, holds
	v.question = q
	return v.answer(ctx, m)
}

// refuse says what is wrong with a question.
func (v *viewer) refuse(ctx context.Context, id int64, err error) error {
	m := whereMessage{Type: "where", ID: id, Seq: v.at, Keys: []string{}, Last: true, Error: clip(err.Error(), maxValue)}
	return v.to.send(ctx, m.Type, 0, encode(m))
}

// findAll calls take with the key of each object of which the expression holds. Pings go
// on meanwhile.
func (v *viewer) findAll(ctx context.Context, x *expression.Expression, take func(key string)) error {
	release, err := v.search(ctx)
	if err != nil {
		return err
	}
	defer release()
	all, err := v.inventory.At(inventory.Now, nil)
	if err != nil {
		return err
	}
	return evaluate(ctx, x, all, func(s *inventory.State, holds bool) error {
		if holds {
			take(s.Of.ID)
		}
		select {
		case <-v.tick:
			return v.ping(ctx)
		default:
			return nil
		}
	})
}

// answer sends the keys in parts.
func (v *viewer) answer(ctx context.Context, m whereMessage) error {
	all := m.Keys
	for !m.Last {
		m.Keys = all[:min(len(all), maxKeys)]
		all = all[len(m.Keys):]
		m.Last = len(all) == 0
		if err := v.to.send(ctx, m.Type, 0, encode(m)); err != nil {
			return err
		}
	}
	return nil
}

// awaitTurn waits until the viewer may look at what changed. Pings go on meanwhile.
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

// matches says what these messages changed in the answer to the viewer's question.
func (v *viewer) matches(ctx context.Context, entries []*entry) error {
	q := v.question
	if q == nil || len(entries) == 0 {
		return nil
	}
	seen := keysIn(entries)
	m := matchesMessage{Type: "matches", ID: q.id, Seq: v.at, In: []string{}, Out: []string{}}
	if err := v.awaitTurn(ctx); err != nil {
		return err
	}
	err := evaluate(ctx, q.expression, v.inventory.Present(slices.Collect(maps.Keys(seen))), func(s *inventory.State, holds bool) error {
		key := s.Of.ID
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
	for key := range seen { // no longer there
		delete(q.holds, key)
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		v.question = nil
		return v.refuse(ctx, q.id, err)
	case len(m.In)+len(m.Out) == 0:
		return nil
	}
	return v.to.send(ctx, m.Type, 0, encode(m))
}

// keysIn returns the keys of the objects that messages are about.
func keysIn(entries []*entry) map[string]bool {
	keys := map[string]bool{}
	for _, e := range entries {
		if e.key != "" {
			keys[e.key] = true
		}
	}
	return keys
}
