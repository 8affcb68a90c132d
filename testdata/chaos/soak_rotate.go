package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// rotated is the results of one kind of rotation.
type rotated struct {
	times   int
	silence time.Duration // maximum time until each rule delivered something again, and the rule web something of each resource
}

// rotation replaces something. do returns when that is done. After that, dwatch has to continue to deliver.
type rotation struct {
	name string
	do   func(context.Context, *soak) error
}

// rotations happen one after the other. Tokens, credentials and the API server's authority are renewed in parallel,
// because that takes longer.
var rotations = []rotation{
	{"webhook: certificate", func(_ context.Context, s *soak) error { return s.receivers.hook.show(s.receivers.own) }},
	{"webhook: token", func(ctx context.Context, s *soak) error { return s.receivers.newHookToken(ctx, false) }},
	{"API server: certificate", func(ctx context.Context, s *soak) error {
		defer s.api.reset()
		return s.api.newCertificate(ctx)
	}},
	{"rules: one changed, one added", func(ctx context.Context, s *soak) error {
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
		if err := eventually(ctx, "dwatch reports the broken rules", func() bool {
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

// reread changes the rules and waits until dwatch has read them.
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

// rotate runs one rotation after the other until ctx ends. finish restores valid credentials.
func (s *soak) rotate(ctx context.Context) error {
	for i := 0; sleep(ctx, s.every); i = (i + 1) % len(rotations) {
		r := rotations[i]
		if err := s.turn(ctx, r.name, func(ctx context.Context) error { return r.do(ctx, s) }); err != nil {
			return err
		}
	}
	return nil
}

// turn runs a rotation, and waits until dwatch delivers again. A rotation that has started is completed even if ctx
// ends.
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

// recover waits until each rule has delivered something, and the rule web something of each resource, so that none is
// behind. recovered is false if the run ended before.
func (s *soak) recover(ends context.Context, name string) (recovered bool, err error) {
	ctx, over := context.WithoutCancel(ends), time.Now()
	before, err := s.sample(ctx)
	if err != nil {
		return false, err
	}
	if err := eventuallyWithin(ctx, recoverWithin, "each rule delivers after "+name, func() bool {
		now, err := s.sample(ctx)
		return ends.Err() != nil || err == nil && now.deliveredSince(before) && s.deliveredAll(over)
	}); err != nil || ends.Err() != nil {
		return false, err
	}
	s.count(name, time.Since(over))
	return true, nil
}

// deliveredAll reports whether the rule web has delivered an object of each resource in each namespace since a time, so
// that it is not behind.
func (s *soak) deliveredAll(since time.Time) bool {
	r := s.records["web"]
	r.mu.Lock()
	defer r.mu.Unlock()
	return !slices.ContainsFunc(s.writers, func(w *writer) bool {
		return !r.last[place{kind: w.kind, namespace: w.namespace}].After(since)
	})
}

// isLong reports whether the run is long enough for tokens to expire.
func (s *soak) isLong() bool { return s.lasts > 2*tokenLasts }

// renewTokens gives dwatch new tokens as a kubelet does, and each third one too late. In a short run, tokens are revoked
// instead of expiring.
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
			s.api.reset() // so that dwatch sends requests again, which are rejected
			sleep(ctx, refusedFor)
		}
		// The server may be down just now. Nothing else waits here, because it may wait for this.
		if err := eventually(ctx, "the API server gives a token", func() bool { return s.api.newToken(ctx) == nil }); err != nil {
			return err
		}
		s.api.reset()
		if _, err := s.recover(ctx, name); err != nil {
			return err
		}
	}
}

// renewCredentials gives dwatch credentials of another NATS user before the previous ones expire, and each third time a
// moment too late.
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

// count counts a rotation after which each rule delivered again within a time.
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

// caNoticed is how long the Kubernetes client takes to notice a changed CA file. It checks every five minutes.
const caNoticed = 5*time.Minute + 15*time.Second

// renewAuthority replaces the authority of the API server's certificate. dwatch trusts the new one long enough before.
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
