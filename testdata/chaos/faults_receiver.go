package main

import (
	"net/http"

	"golang.org/x/sync/errgroup"
)

// deliveryGroups are the faults of a run with receivers. All groups are equally likely. killServer also kills the server.
// Among the faults between server and dwatch are only those after which dwatch has read everything that the proxy passed
// on, as the witness requires.
var deliveryGroups = [][]fault{
	receiverFaults, receiverFaults, receiverFaults,
	{faultOf("cut"), faultOf("end"), faultOf("gone-event"), faultOf("unavailable")},
}

// receiverFaults affect receivers.
var receiverFaults = []fault{
	{"receiver-away", func(i *injection) (bool, error) {
		var all errgroup.Group
		for _, d := range i.watchers {
			all.Go(func() error { return d.receiver.kill(i.ctx, i.window) })
		}
		return true, all.Wait()
	}},
	answering("receiver-hangs", hangs),
	answering("receiver-is-slow", slow),
	answering("receiver-fails", says(http.StatusInternalServerError, "")),
	answering("receiver-unavailable", says(http.StatusServiceUnavailable, "1")),
	answering("receiver-too-busy", says(http.StatusTooManyRequests, "1")),
	answering("receiver-redirects", says(http.StatusFound, "")),
	answering("receiver-forbids", says(http.StatusForbidden, "")),
	answering("receiver-silent", silent),
	answering("receiver-cut-in-answer", halfAnswer),
	atTimes("receiver-fails-at-times", says(http.StatusInternalServerError, "")),
	atTimes("receiver-silent-at-times", silent),
	atTimes("receiver-hangs-at-times", hangs),
	{"receiver-reset", func(i *injection) (bool, error) {
		hit := false
		for _, d := range i.watchers {
			hit = d.receiver.listener.reset() > 0 || hit
		}
		return hit, nil
	}},
}

// answering returns a fault in which all receivers answer like m for a window.
func answering(name string, m manner) fault {
	return fault{name, func(i *injection) (bool, error) {
		return i.each(func(*receiver) manner { return m }), nil
	}}
}

// atTimes returns a fault in which all receivers answer some of the requests like m for a window.
func atTimes(name string, m manner) fault {
	return fault{name, func(i *injection) (bool, error) {
		return i.each(func(r *receiver) manner { return r.nowAndThen(m) }), nil
	}}
}

// each makes all receivers misbehave for the window. It reports whether one of them received a request.
func (i *injection) each(m func(*receiver) manner) (hit bool) {
	for _, d := range i.watchers {
		d.receiver.become(m(d.receiver))
	}
	sleep(i.ctx, i.window)
	for _, d := range i.watchers {
		hit = d.receiver.become(well) > 0 || hit
	}
	return hit
}
