package main

import (
	"context"
	"strings"

	"dwatch/watcher/event"
)

// What talk says about rights takes questions to the server: it is said aside.

// deny tells, once, that a target is denied.
func (t *talk) deny(ctx context.Context, target event.Target, err error) {
	what := describe(target)
	if t.denied[what] || t.rights == nil {
		return
	}
	t.denied[what] = true
	t.asides.add(ctx, func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, detailTimeout)
		defer cancel()
		err := t.rights.detail(ctx, target, err)
		t.say("%s: denied, and tried again until it is allowed: %s", what, strings.Join(explain(err), "; "))
	})
}

// allow tells that a target is denied no more.
func (t *talk) allow(ctx context.Context, what string) {
	if t.denied[what] {
		delete(t.denied, what)
		t.asides.add(ctx, func(context.Context) { t.say("%s: allowed", what) })
	}
}

// checkList tells, once, that a target which can be watched can't be listed. It
// is asked when all that exists has been told, so no event waits for the answer.
func (t *talk) checkList(ctx context.Context, target event.Target) {
	what := describe(target)
	if t.checked[what] || t.rights == nil {
		return
	}
	t.checked[what] = true
	t.asides.add(ctx, func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, detailTimeout)
		defer cancel()
		n := needOf(target, t.rights.request)
		if !t.rights.lacksList(ctx, n) {
			return
		}
		user, _ := t.rights.user(ctx) // the sentence does without
		t.say("%s: %s; the watch goes on, but needs it where the server does not stream what is there", what, n.refusal(user, "list"))
	})
}
