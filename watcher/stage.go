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

// stage is the one value that says where a target stands. loss is the mark with
// which it was reported that the server does not answer; empty while it does.
type stage struct {
	phase phase
	loss  event.Type
}

// happening is what changes a stage.
type happening uint8

const (
	begins   happening = iota // a session, whose informer knows nothing
	answers                   // the server answers
	resumes                   // the server answers, and the watch goes on where it stopped
	rejects                   // the first answer is no
	syncs                     // the server has named all that there is
	vanishes                  // the server no longer has the resource
	fails                     // the connection is lost, or denied
)

// next returns the stage after h, and the mark that reports it; empty if there is
// nothing to report. loss is how it is lost, of fails and rejects.
func (s stage) next(h happening, loss event.Type) (stage, event.Type) {
	switch h {
	case begins:
		if s.phase == live {
			s.phase = syncing
		}
	case answers, resumes:
		return s.answered(h == resumes)
	case rejects:
		if s.phase == connecting {
			return stage{rejected, loss}, ""
		}
	case syncs:
		if s.phase != live {
			return stage{live, s.loss}, event.Synced
		}
	case vanishes:
		return stage{phase: ended}, event.Gone
	case fails:
		return s.failed(loss)
	}
	return s, ""
}

// answered: after a loss it is worth a mark that the watch goes on; where a sync
// comes first, that says more.
func (s stage) answered(resumed bool) (stage, event.Type) {
	again := s.loss != ""
	s.loss = ""
	if s.phase < syncing {
		s.phase = syncing
	}
	if again && resumed {
		return s, event.Reconnected
	}
	return s, ""
}

// failed: a loss is reported once, unless it turns into another one.
func (s stage) failed(loss event.Type) (stage, event.Type) {
	if s.loss == loss {
		return s, ""
	}
	s.loss = loss
	if s.phase == rejected {
		s.phase = waiting
	}
	return s, loss
}

// isServed reports whether the server has served the target once.
func (s stage) isServed() bool { return s.phase == syncing || s.phase == live }

// lossOf is the mark with which a failure is reported.
func lossOf(err error) event.Type {
	if apierrors.IsForbidden(err) {
		return event.Denied
	}
	return event.Disconnected
}
