package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// fault is a kind of fault. inject injects it and returns when it is over. After that, dwatch has to recover. hit reports
// whether it affected anything.
type fault struct {
	name   string
	inject func(*injection) (hit bool, err error)
}

// injection is one fault that is being injected.
type injection struct {
	ctx context.Context
	*proxy
	// window is how long it lasts. Faults that hit once ignore it.
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

// moment returns a fault that hits each open watch once: immediately if now is true, or else with its next event.
func moment(name string, now bool, edit func() editor) fault {
	return fault{name, func(i *injection) (bool, error) { return i.touch(now, edit) > 0, nil }}
}

// episode returns a fault that lasts for a window. It starts by ending all watches, so that the client sends requests. It hits
// if the last rule applied to a request.
func episode(name string, rules ...rule) fault { return episodeAfter(name, endNow, rules) }

// relistEpisode is like episode, but starts by ending all watches with 410, so that they start again with the existing
// objects.
func relistEpisode(name string, rules ...rule) fault { return episodeAfter(name, sayGone, rules) }

func episodeAfter(name string, end func() editor, rules []rule) fault {
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

// listEpisode is like relistEpisode, but the server also refuses to stream the initial events. The client then has to
// list objects, which rules affect.
func listEpisode(name string, rules ...rule) fault {
	return relistEpisode(name, append([]rule{{on: isAny(syncs), answer: unsupported}}, rules...)...)
}

// withheld is longer than dwatch waits for the end of the initial events before it lists the objects instead. See
// watcher.Options.SyncSilence.
const withheld = 12 * time.Second

var ofObjects = isAny(list, page, syncs, resume)

// connectionFaults affect connections.
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
	episode("abort", rule{answer: abort}),
	episode("headers-only", rule{on: ofObjects, answer: headersOnly}),
	episode("cut-early", rule{on: isAny(syncs, resume), edit: cutAfter(5)}),
	episode("go-away", rule{before: goAway}),
}

// eventFaults affect watches and their events, and the reader of the lines.
var eventFaults = []fault{
	moment("end", true, endNow),
	episode("end-at-once", rule{on: isAny(syncs, resume), edit: endAfter(0)}),
	episode("end-early", rule{on: isAny(syncs, resume), edit: endAfter(5)}),
	moment("truncated", false, truncate),
	moment("oversized", false, oversize),
	episode("repeat", rule{on: isAny(syncs, resume), edit: repeat}),
	{"reader-stalls", func(i *injection) (bool, error) {
		for _, d := range i.watchers {
			d.reading.Lock()
			defer d.reading.Unlock()
		}
		sleep(i.ctx, i.window)
		return true, nil
	}},
}

// answerFaults answer requests instead of the server.
var answerFaults = []fault{
	episode("too-many-requests", rule{answer: tooMany}),
	episode("internal-error", rule{answer: refuses(500, "InternalError", "an outage")}),
	episode("unavailable", rule{answer: webPage(503)}),
	episode("gateway-timeout", rule{answer: refuses(504, "Timeout", "a timeout")}),
	episode("unauthorized", rule{answer: refuses(401, "Unauthorized", "Unauthorized")}),
	episode("forbidden", rule{answer: refuses(403, "Forbidden", "denied for a while")}),
	episode("web-page", rule{answer: webPage(200)}),
	episode("web-page-404", rule{answer: webPage(404)}),
	episode("empty", rule{answer: empty}),
	episode("redirect", rule{answer: redirect}),
	episode("gzip-garbage", rule{answer: garbled}),
	{"token-expired", func(i *injection) (bool, error) {
		err := i.expire()
		return i.touch(true, endNow) > 0, err
	}},
}

// syncFaults affect watches that start again with the existing objects.
var syncFaults = []fault{
	moment("gone-event", true, sayGone),
	episode("gone-status", rule{on: isAny(resume), answer: gone}),
	relistEpisode("sync-cut", rule{on: isAny(syncs), edit: cutAfter(3)}),
	relistEpisode("sync-ended", rule{on: isAny(syncs), edit: endAfter(3)}),
	{"bookmark-withheld", func(i *injection) (bool, error) {
		i.window = max(i.window, withheld)
		return relistEpisode("", rule{on: isAny(syncs), edit: withhold}).inject(i)
	}},
	relistEpisode("other-json", rule{answer: otherJSON}),
	relistEpisode("too-short", rule{on: ofObjects, answer: tooShort}),
	listEpisode("no-watchlist", rule{on: isAny(list)}),
	listEpisode("small-pages", rule{on: isAny(list, page), before: smallPages}),
	listEpisode("gone-page", rule{on: isAny(list), before: smallPages}, rule{on: isAny(page), answer: gone}),
	listEpisode("page-cut", rule{on: isAny(list), before: smallPages}, rule{on: isAny(page), answer: abort}),
	listEpisode("list-cut", rule{on: isAny(list, page), edit: halve}),
	listEpisode("list-other-json", rule{on: isAny(list, page), answer: otherJSON}),
	listEpisode("list-empty", rule{on: isAny(list, page), answer: empty}),
	listEpisode("list-web-page", rule{on: isAny(list, page), answer: webPage(200)}),
	listEpisode("list-unavailable", rule{on: isAny(list, page), answer: webPage(503)}),
}

// garbageFaults replace the next event of each watch, and later refuse connections for a time.
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

// serverFaults affect the server itself.
var serverFaults = []fault{
	{"server-killed", func(i *injection) (bool, error) { return true, i.server.crash(i.ctx, i.window) }},
	{"server-frozen", func(i *injection) (bool, error) { return true, i.server.freeze(i.ctx, i.window) }},
	{"crd-replaced", func(i *injection) (bool, error) { return true, i.server.replaceCRD(i.ctx, i.window) }},
}

// patienceFaults take minutes to notice: the watches stay open, but nothing arrives.
var patienceFaults = []fault{
	moment("half-open", true, stall(nil)),
}
