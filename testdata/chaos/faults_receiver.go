package main

import (
	"net/http"

	"golang.org/x/sync/errgroup"
)

// deliveryGroups are the faults of a run with receivers, each group as likely as the
// next. The server is killed beside them. Of those on the way from the server only such are in it after which dwatch has
// read all that the proxy has passed on; see witness.
var deliveryGroups = [][]fault{
	receiverFaults, receiverFaults, receiverFaults,
	{faultOf("cut"), faultOf("end"), faultOf("gone-event"), faultOf("unavailable")},
}

// receiverFaults are what happens to receivers.
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

// answering is a fault of each receiver that lasts for a window.
func answering(name string, m manner) fault {
	return fault{name, func(i *injection) (bool, error) {
		return i.each(func(*receiver) manner { return m }), nil
	}}
}

// atTimes is a fault of some of the requests.
func atTimes(name string, m manner) fault {
	return fault{name, func(i *injection) (bool, error) {
		return i.each(func(r *receiver) manner { return r.nowAndThen(m) }), nil
	}}
}

// each makes all receivers misbehave at the same time.
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
