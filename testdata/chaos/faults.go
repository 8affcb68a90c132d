package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"
)

// fault is a kind of misfortune. inject brings it about and returns when it is
// over: dwatch has to recover from then on.
type fault struct {
	name   string
	inject func(*injection) error
}

// injection is one fault that is being injected.
type injection struct {
	ctx context.Context
	*proxy
	rng *rand.Rand
	// window is how long it lasts, where it lasts at all.
	window time.Duration
	// server is what can be killed; nil if others need it.
	server *server
}

// moment is a fault that hits each open watch once: at once, or with its next
// event.
func moment(name string, now bool, edit func() editor) fault {
	return fault{name, func(i *injection) error {
		i.touch(now, edit)
		return nil
	}}
}

// spell is a fault that lasts for a window. It begins with the end of all watches,
// so that something is asked: by 410 if they are to begin anew.
func spell(name string, anew bool, rules ...rule) fault {
	return fault{name, func(i *injection) error {
		for _, r := range rules {
			defer i.add(r)()
		}
		i.provoke(anew)
		sleep(i.ctx, i.window)
		return nil
	}}
}

func (i *injection) provoke(anew bool) {
	if anew {
		i.touch(true, sayGone)
	} else {
		i.touch(true, endNow)
	}
}

var ofObjects = isAny(list, page, syncs, resume)

// proxyFaults are the faults that need nothing but the proxy.
var proxyFaults = []fault{
	moment("cut", true, cutNow),
	moment("cut-in-event", false, cutInEvent),
	moment("end", true, endNow),
	moment("gone-event", true, sayGone),
	moment("truncated", false, truncate),
	moment("oversized", false, oversize),
	{"reset", func(i *injection) error {
		i.reset()
		return nil
	}},
	{"refuse", func(i *injection) error {
		i.refuse()
		i.reset()
		sleep(i.ctx, i.window)
		return i.readmit(i.ctx)
	}},
	{"freeze", func(i *injection) error {
		thaw := i.freeze()
		sleep(i.ctx, i.window)
		thaw()
		return nil
	}},
	{"stall", func(i *injection) error {
		over := make(chan struct{})
		i.touch(true, stall(over))
		sleep(i.ctx, i.window)
		close(over)
		return nil
	}},
	{"hold", func(i *injection) error {
		over := make(chan struct{})
		defer close(over)
		defer i.add(rule{on: ofObjects, edit: hold(over)})()
		i.touch(true, hold(over))
		sleep(i.ctx, i.window)
		return nil
	}},
	{"token-expired", func(i *injection) error {
		if err := i.expire(); err != nil {
			return err
		}
		i.provoke(false)
		return nil
	}},
	{"trickle", func(i *injection) error {
		slow := func() editor {
			return func(b *body, frame []byte) ([]byte, error) {
				b.pace = time.Millisecond / 4
				return frame, nil
			}
		}
		i.touch(false, slow)
		sleep(i.ctx, i.window)
		i.touch(true, cutNow)
		return nil
	}},
	spell("gone-status", false, rule{on: isAny(resume), answer: gone}),
	spell("gone-page", true,
		rule{on: isAny(syncs), answer: unsupported},
		rule{on: isAny(list, page), before: smallPages},
		rule{on: isAny(page), answer: gone}),
	spell("no-watchlist", true, rule{on: isAny(syncs), answer: unsupported}),
	spell("small-pages", true,
		rule{on: isAny(syncs), answer: unsupported},
		rule{on: isAny(list, page), before: smallPages}),
	spell("list-cut", true,
		rule{on: isAny(syncs), answer: unsupported},
		rule{on: isAny(list, page), edit: halve}),
	spell("page-cut", true,
		rule{on: isAny(syncs), answer: unsupported},
		rule{on: isAny(list, page), before: smallPages},
		rule{on: isAny(page), answer: abort}),
	spell("bookmark-withheld", true, rule{on: isAny(syncs), edit: withhold}),
	spell("sync-cut", true, rule{on: isAny(syncs), edit: cutAfter(3)}),
	spell("sync-ended", true, rule{on: isAny(syncs), edit: endAfter(3)}),
	spell("end-at-once", false, rule{on: isAny(syncs, resume), edit: endAfter(0)}),
	spell("end-early", false, rule{on: isAny(syncs, resume), edit: endAfter(5)}),
	spell("cut-early", false, rule{on: isAny(syncs, resume), edit: cutAfter(5)}),
	spell("repeat", false, rule{on: isAny(syncs, resume), edit: repeat}),
	spell("too-many-requests", false, rule{answer: tooMany}),
	spell("internal-error", false, rule{answer: refuses(500, "InternalError", "an outage")}),
	spell("unavailable", false, rule{answer: webPage(503)}),
	spell("gateway-timeout", false, rule{answer: refuses(504, "Timeout", "a timeout")}),
	spell("unauthorized", false, rule{answer: refuses(401, "Unauthorized", "Unauthorized")}),
	spell("forbidden", false, rule{answer: refuses(403, "Forbidden", "denied for a while")}),
	spell("web-page", false, rule{answer: webPage(200)}),
	spell("web-page-404", false, rule{answer: webPage(404)}),
	spell("empty", false, rule{answer: empty}),
	spell("redirect", false, rule{answer: redirect}),
	spell("gzip-garbage", false, rule{answer: garbled}),
	spell("too-short", true, rule{on: ofObjects, answer: tooShort}),
	spell("headers-only", false, rule{on: ofObjects, answer: headersOnly}),
	spell("abort", false, rule{answer: abort}),
	spell("go-away", false, rule{before: goAway}),
	spell("other-json", true, rule{answer: otherJSON}),
	listSpell("list-other-json", otherJSON),
	listSpell("list-empty", empty),
	listSpell("list-web-page", webPage(200)),
	listSpell("list-unavailable", webPage(503)),
}

// listSpell is a spell in which objects have to be listed, and that goes wrong.
func listSpell(name string, answer http.HandlerFunc) fault {
	return spell(name, true, rule{on: isAny(syncs), answer: unsupported}, rule{on: isAny(list, page), answer: answer})
}

// garbageFaults are those that send something else than the next event, and
// after it nothing for a while.
var garbageFaults = func() []fault {
	var faults []fault
	for n, text := range garbage {
		faults = append(faults, fault{fmt.Sprintf("garbage-%d", n), func(i *injection) error {
			i.touch(false, garble(text))
			sleep(i.ctx, i.window/2)
			i.refuse()
			i.reset()
			sleep(i.ctx, i.window/2)
			return i.readmit(i.ctx)
		}})
	}
	return faults
}()

// serverFaults hit the server itself.
var serverFaults = []fault{
	{"server-killed", func(i *injection) error { return i.server.crash(i.ctx, i.window) }},
	{"crd-replaced", func(i *injection) error { return i.server.replaceCRD(i.ctx, i.window) }},
}
