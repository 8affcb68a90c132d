package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// rotated is what became of one kind of rotation.
type rotated struct {
	times   int
	silence time.Duration // the longest until each rule has delivered something again, and one of them something of each resource
}

// rotation makes something anew. It returns when that is so, and dwatch has to go on from then.
type rotation struct {
	name string
	do   func(context.Context, *soak) error
}

// rotations are what is made anew in turn. What takes its time by itself is renewed beside them.
var rotations = []rotation{
	{"webhook: certificate", func(_ context.Context, s *soak) error { return s.receivers.hook.show(s.receivers.own) }},
	{"webhook: token", func(ctx context.Context, s *soak) error { return s.receivers.newHookToken(ctx, false) }},
	{"API server: certificate", func(ctx context.Context, s *soak) error {
		defer s.api.reset()
		return s.api.newCertificate(ctx)
	}},
	{"rules: one changes, one comes", func(ctx context.Context, s *soak) error {
		return s.reread(ctx, func() error { return s.setRules(true) })
	}},
	{"NATS: killed, with another certificate", func(_ context.Context, s *soak) error { return s.receivers.restartNATS() }},
	{"Kafka: killed, with another certificate", func(_ context.Context, s *soak) error { return s.receivers.restartKafka() }},
	{"API server: killed", func(ctx context.Context, s *soak) error { return s.api.restart(ctx, true) }},
	{"webhook: token, too late", func(ctx context.Context, s *soak) error { return s.receivers.newHookToken(ctx, true) }},
	{"rules: broken for a while", func(ctx context.Context, s *soak) error {
		if err := s.rules.set(map[string][]byte{"rules.yaml": []byte("apiVersion: dwatch/v1alpha1\nkind: Rules\nrules:\n- name: web\n  nonsense: 1\n")}); err != nil {
			return err
		}
		if err := eventually(ctx, "rules that are broken are said to be", func() bool {
			now, err := s.sample(ctx)
			return err == nil && now.reloaded == 0
		}); err != nil {
			return err
		}
		return s.reread(ctx, func() error { return s.setRules(false) })
	}},
	{"API server: restarted", func(ctx context.Context, s *soak) error { return s.api.restart(ctx, false) }},
	{"receivers: authority", func(_ context.Context, s *soak) error { return s.receivers.newAuthority() }},
	{"connections: reset", func(_ context.Context, s *soak) error {
		s.api.reset()
		return nil
	}},
}

// reread waits until dwatch has read the rules.
func (s *soak) reread(ctx context.Context, change func() error) error {
	before, err := s.sample(ctx)
	if err != nil {
		return err
	}
	if err := change(); err != nil {
		return err
	}
	return eventually(ctx, "the rules are read again", func() bool {
		now, err := s.sample(ctx)
		return err == nil && now.reloaded == 1 && now.reloadedAt > before.reloadedAt
	})
}

// rotate makes one thing after the other anew, until ctx ends. What is wrong for good in the end is right again.
func (s *soak) rotate(ctx context.Context) error {
	for i := 0; sleep(ctx, s.every); i = (i + 1) % len(rotations) {
		r := rotations[i]
		if err := s.turn(ctx, r.name, func(ctx context.Context) error { return r.do(ctx, s) }); err != nil {
			return err
		}
	}
	return nil
}

// turn makes something anew, and waits until dwatch has got over it. What has begun is done.
func (s *soak) turn(ctx context.Context, name string, do func(context.Context) error) error {
	s.rotating.Lock()
	defer s.rotating.Unlock()
	if ctx.Err() != nil {
		return nil
	}
	if err := do(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	recovered, err := s.recover(ctx, name)
	if recovered {
		s.api.back()
	}
	return err
}

// recover waits until each rule has delivered something, and one of them something of each resource, so that nothing is behind; not
// recovered: the time was over before.
func (s *soak) recover(ends context.Context, name string) (recovered bool, err error) {
	ctx, over := context.WithoutCancel(ends), time.Now()
	before, err := s.sample(ctx)
	if err != nil {
		return false, err
	}
	if err := eventuallyWithin(ctx, recoverWithin, "each rule delivers after "+name, func() bool {
		now, err := s.sample(ctx)
		return ends.Err() != nil || err == nil && now.deliveredSince(before) && s.toldOfAll(over)
	}); err != nil || ends.Err() != nil {
		return false, err
	}
	s.count(name, time.Since(over))
	return true, nil
}

// toldOfAll reports whether a rule has told of each resource in each namespace since: then it is not behind.
func (s *soak) toldOfAll(since time.Time) bool {
	r := s.records["web"]
	r.mu.Lock()
	defer r.mu.Unlock()
	return !slices.ContainsFunc(s.writers, func(w *writer) bool {
		return !r.last[place{kind: w.kind, namespace: w.namespace}].After(since)
	})
}

// isLong reports whether tokens of the server expire within the time.
func (s *soak) isLong() bool { return s.lasts > 2*tokenLasts }

// renewTokens gives dwatch another token as a kubelet does, and each third time too late. Where the time is too short for that a
// token does not expire, but is revoked.
func (s *soak) renewTokens(ctx context.Context) error {
	for n := 1; ; n++ {
		lasts, late := 2*s.every, n%3 == 2
		if s.isLong() {
			lasts = tokenRenewed
		}
		if !sleep(ctx, lasts) {
			return nil
		}
		name := "account: token"
		if late {
			if name = "account: token, expired"; !s.isLong() {
				name = "account: token, revoked"
				if err := eventually(ctx, "the token is revoked", func() bool { return s.api.revokeToken(ctx) == nil }); err != nil {
					return err
				}
			}
			if err := s.api.awaitRefusal(ctx); err != nil {
				return err
			}
			s.api.reset() // so that it asks again, and is refused
			sleep(ctx, refusedFor)
		}
		// The server may be away just then. Nothing else is waited for, which may wait for this.
		if err := eventually(ctx, "the API server gives a token", func() bool { return s.api.newToken(ctx) == nil }); err != nil {
			return err
		}
		s.api.reset()
		if _, err := s.recover(ctx, name); err != nil {
			return err
		}
	}
}

// renewCredentials gives dwatch another user of NATS before the one before expires, and each third time a moment too late.
func (s *soak) renewCredentials(ctx context.Context) error {
	lasts := 6 * s.every
	for n := 1; ; n++ {
		name, wait := "NATS: credentials", lasts*2/3
		if n%3 == 2 {
			name, wait = "NATS: credentials, expired", lasts+refusedFor
		}
		if err := s.receivers.newCredentials(lasts); err != nil {
			return err
		}
		if !sleep(ctx, wait) {
			return nil
		}
		s.count(name, 0)
	}
}

// count counts a rotation, after which each rule delivered again within a time.
func (s *soak) count(name string, silence time.Duration) {
	s.countMu.Lock()
	defer s.countMu.Unlock()
	of := s.rotated[name]
	if of == nil {
		of = new(rotated)
		s.rotated[name] = of
	}
	of.times++
	of.silence = max(of.silence, silence)
}

// caNoticed is how long it takes the Kubernetes client to notice that its file of authorities was changed: it looks every five minutes.
const caNoticed = 5*time.Minute + 15*time.Second

// renewAuthority has the API server be signed by another authority, which dwatch trusts long enough before.
func (s *soak) renewAuthority(ctx context.Context) error {
	for s.isLong() && sleep(ctx, time.Minute) {
		next, err := s.api.announceAuthority()
		if err != nil {
			return err
		}
		if !sleep(ctx, caNoticed) {
			return nil
		}
		if err := s.turn(ctx, "API server: authority", func(ctx context.Context) error {
			defer s.api.reset()
			return s.api.adoptAuthority(ctx, next)
		}); err != nil {
			return err
		}
	}
	return nil
}
