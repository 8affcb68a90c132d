package watcher

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"dwatch/watcher/event"
)

// phase is how far a target has come.
type phase uint8

const (
	// connecting: nothing has been heard of the server.
	connecting phase = iota
	// rejected: the server's first answer was no, which has not been reported: if it
	// is no to all targets, that is an error.
	rejected
	// waiting: the server is asked again and again for what it does not serve yet, or
	// refuses.
	waiting
	// syncing: the server names what there is.
	syncing
	// live: all that there was has been reported.
	live
	// ended: the server no longer has the resource.
	ended
)

// progress is how far a target has come, and what was reported of that. Its methods take
// what the target's source has met, and return the mark that reports it; empty if there is
// nothing to report.
type progress struct {
	phase phase
	// loss is the mark with which it was reported that the server does not answer; empty
	// while it does.
	loss event.Type
}

// begin: a session begins, whose informer knows nothing.
func (p *progress) begin() {
	if p.phase == live {
		p.phase = syncing
	}
}

// answer: the server answers. resumed: the watch goes on where it stopped. After a loss that
// is worth a mark; where a sync comes first, that says more.
func (p *progress) answer(resumed bool) event.Type {
	again := p.loss != ""
	p.loss = ""
	if p.phase < syncing {
		p.phase = syncing
	}
	if again && resumed {
		return event.Reconnected
	}
	return ""
}

// reject: the first answer is no, which is not reported yet.
func (p *progress) reject(loss event.Type) {
	if p.phase == connecting {
		*p = progress{rejected, loss}
	}
}

// sync: the server has named all that there is.
func (p *progress) sync() event.Type {
	if p.phase == live {
		return ""
	}
	p.phase = live
	return event.Synced
}

// vanish: the server no longer has the resource.
func (p *progress) vanish() event.Type {
	*p = progress{phase: ended}
	return event.Gone
}

// fail: the connection is lost, or denied. That is reported once, unless it turns into
// another loss.
func (p *progress) fail(loss event.Type) event.Type {
	if p.loss == loss {
		return ""
	}
	p.loss = loss
	if p.phase == rejected {
		p.phase = waiting
	}
	return loss
}

// isServed reports whether the server has served the target once.
func (p *progress) isServed() bool { return p.phase == syncing || p.phase == live }

// lossOf is the mark with which a failure is reported.
func lossOf(err error) event.Type {
	if apierrors.IsForbidden(err) {
		return event.Denied
	}
	return event.Disconnected
}
