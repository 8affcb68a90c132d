package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// fault is a kind of misfortune. inject brings it about and returns when it is
// over: dwatch has to recover from then on. It reports whether anything was hit.
type fault struct {
	name   string
	inject func(*injection) (hit bool, err error)
}

// injection is one fault that is being injected.
type injection struct {
	ctx context.Context
	*proxy
	// window is how long it lasts, where it lasts at all.
	window   time.Duration
	server   *server
	watchers []*dwatch
}

// faultOf returns the fault with a name.
func faultOf(name string) fault {
	for _, f := range slices.Concat(groups...) {
		if f.name == name {
			return f
		}
	}
	panic(name)
}

// moment is a fault that hits each open watch once: at once, or with its next
// event.
func moment(name string, now bool, edit func() editor) fault {
	return fault{name, func(i *injection) (bool, error) { return i.touch(now, edit) > 0, nil }}
}

// spell is a fault that lasts for a window. It begins with the end of all watches,
// so that something is asked. What counts as a hit is what the last rule is on.
func spell(name string, rules ...rule) fault { return spellAfter(name, endNow, rules) }

// anew is a spell that begins with 410 for all watches, so that they begin anew.
func anew(name string, rules ...rule) fault { return spellAfter(name, sayGone, rules) }

func spellAfter(name string, end func() editor, rules []rule) fault {
	return fault{name, func(i *injection) (bool, error) {
		var last *rule
		for _, r := range rules {
			last = i.add(r)
			defer i.remove(last)
		}
		i.touch(true, end)
		sleep(i.ctx, i.window)
		return last.hits.Load() > 0, nil
	}}
}

// unlisted is a spell in which objects have to be listed, and that goes wrong.
func unlisted(name string, rules ...rule) fault {
	return anew(name, append([]rule{{on: isAny(syncs), answer: unsupported}}, rules...)...)
}

// withheld is how long the initial events have to be without an end before they
// are listed instead; see watcher.Options.SyncSilence.
const withheld = 12 * time.Second

var ofObjects = isAny(list, page, syncs, resume)

// connectionFaults are what happens to connections.
var connectionFaults = []fault{
	moment("cut", true, cutNow),
	moment("cut-in-event", false, cutInEvent),
	{"reset", func(i *injection) (bool, error) { return i.reset() > 0, nil }},
	{"refuse", func(i *injection) (bool, error) {
		i.refuse()
		i.reset()
		sleep(i.ctx, i.window)
		return true, i.readmit(context.WithoutCancel(i.ctx))
	}},
	{"freeze", func(i *injection) (bool, error) {
		thaw := i.freeze()
		sleep(i.ctx, i.window)
		thaw()
		return true, nil
	}},
	{"stall", func(i *injection) (bool, error) {
		over := make(chan struct{})
		n := i.touch(true, stall(over))
		sleep(i.ctx, i.window)
		close(over)
		return n > 0, nil
	}},
	{"hold", func(i *injection) (bool, error) {
		over := make(chan struct{})
		defer close(over)
		defer i.remove(i.add(rule{on: ofObjects, edit: hold(over)}))
		n := i.touch(true, hold(over))
		sleep(i.ctx, i.window)
		return n > 0, nil
	}},
	{"trickle", func(i *injection) (bool, error) {
		n := i.touch(false, trickle)
		sleep(i.ctx, i.window)
		i.touch(true, cutNow)
		return n > 0, nil
	}},
	spell("abort", rule{answer: abort}),
	spell("headers-only", rule{on: ofObjects, answer: headersOnly}),
	spell("cut-early", rule{on: isAny(syncs, resume), edit: cutAfter(5)}),
	spell("go-away", rule{before: goAway}),
}

// eventFaults are what happens to watches, their events, and the lines.
var eventFaults = []fault{
	moment("end", true, endNow),
	spell("end-at-once", rule{on: isAny(syncs, resume), edit: endAfter(0)}),
	spell("end-early", rule{on: isAny(syncs, resume), edit: endAfter(5)}),
	moment("truncated", false, truncate),
	moment("oversized", false, oversize),
	spell("repeat", rule{on: isAny(syncs, resume), edit: repeat}),
	{"reader-stalls", func(i *injection) (bool, error) {
		for _, d := range i.watchers {
			d.reading.Lock()
			defer d.reading.Unlock()
		}
		sleep(i.ctx, i.window)
		return true, nil
	}},
}

// answerFaults are what is answered instead.
var answerFaults = []fault{
	spell("too-many-requests", rule{answer: tooMany}),
	spell("internal-error", rule{answer: refuses(500, "InternalError", "an outage")}),
	spell("unavailable", rule{answer: webPage(503)}),
	spell("gateway-timeout", rule{answer: refuses(504, "Timeout", "a timeout")}),
	spell("unauthorized", rule{answer: refuses(401, "Unauthorized", "Unauthorized")}),
	spell("forbidden", rule{answer: refuses(403, "Forbidden", "denied for a while")}),
	spell("web-page", rule{answer: webPage(200)}),
	spell("web-page-404", rule{answer: webPage(404)}),
	spell("empty", rule{answer: empty}),
	spell("redirect", rule{answer: redirect}),
	spell("gzip-garbage", rule{answer: garbled}),
	{"token-expired", func(i *injection) (bool, error) {
		err := i.expire()
		return i.touch(true, endNow) > 0, err
	}},
}

// syncFaults are what happens when all that is there has to be told anew.
var syncFaults = []fault{
	moment("gone-event", true, sayGone),
	spell("gone-status", rule{on: isAny(resume), answer: gone}),
	anew("sync-cut", rule{on: isAny(syncs), edit: cutAfter(3)}),
	anew("sync-ended", rule{on: isAny(syncs), edit: endAfter(3)}),
	{"bookmark-withheld", func(i *injection) (bool, error) {
		i.window = max(i.window, withheld)
		return anew("", rule{on: isAny(syncs), edit: withhold}).inject(i)
	}},
	anew("other-json", rule{answer: otherJSON}),
	anew("too-short", rule{on: ofObjects, answer: tooShort}),
	unlisted("no-watchlist", rule{on: isAny(list)}),
	unlisted("small-pages", rule{on: isAny(list, page), before: smallPages}),
	unlisted("gone-page", rule{on: isAny(list), before: smallPages}, rule{on: isAny(page), answer: gone}),
	unlisted("page-cut", rule{on: isAny(list), before: smallPages}, rule{on: isAny(page), answer: abort}),
	unlisted("list-cut", rule{on: isAny(list, page), edit: halve}),
	unlisted("list-other-json", rule{on: isAny(list, page), answer: otherJSON}),
	unlisted("list-empty", rule{on: isAny(list, page), answer: empty}),
	unlisted("list-web-page", rule{on: isAny(list, page), answer: webPage(200)}),
	unlisted("list-unavailable", rule{on: isAny(list, page), answer: webPage(503)}),
}

// garbageFaults send something else than the next event, and a while later break the
// connection.
var garbageFaults = func() []fault {
	var faults []fault
	for n, text := range garbage {
		faults = append(faults, fault{fmt.Sprintf("garbage-%d", n), func(i *injection) (bool, error) {
			hit := i.touch(false, garble(text))
			sleep(i.ctx, i.window/2)
			i.refuse()
			i.reset()
			sleep(i.ctx, i.window/2)
			return hit > 0, i.readmit(context.WithoutCancel(i.ctx))
		}})
	}
	return faults
}()

// serverFaults hit the server itself.
var serverFaults = []fault{
	{"server-killed", func(i *injection) (bool, error) { return true, i.server.crash(i.ctx, i.window) }},
	{"server-frozen", func(i *injection) (bool, error) { return true, i.server.freeze(i.ctx, i.window) }},
	{"crd-replaced", func(i *injection) (bool, error) { return true, i.server.replaceCRD(i.ctx, i.window) }},
}

// patienceFaults are noticed only after minutes, by whoever waits in vain.
var patienceFaults = []fault{
	moment("half-open", true, stall(nil)),
}
