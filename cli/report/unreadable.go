package report

import (
	"errors"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"dwatch/cli/fail"
	"dwatch/watcher/event"
)

// unreadable contains the targets that can't be read although the server answers, for example because a conversion webhook
// is down. They do not count as an outage of the connection. The value is true if a line said that the target can't be read.
type unreadable map[event.Key]bool

// reportUnreadable reports that a target can't be read, with the cause in the server's words and a hint, and later that it
// can be read again. If the next target has the same cause, it is not reported. reportUnreadable returns false if the event
// is about an unreadable target, and not about the connection.
func (r *Reporter) reportUnreadable(e event.Event) bool {
	key := e.Target.Key()
	reported, known := r.unreadable[key]
	switch {
	case e.Type == event.Disconnected && errors.Is(e.Err, event.ErrSilentSync), e.Type == event.Disconnected && isServerAnswer(e.Err):
		if r.unreadable == nil {
			r.unreadable = unreadable{}
		}
		text := fail.ExplainDisconnect(withoutTarget(e.Err))
		isNew := text != r.lastCause
		r.unreadable[key] = reported || isNew && !errors.Is(e.Err, event.ErrSilentSync)
		r.lastCause = text
		switch {
		case !isNew:
		case errors.Is(e.Err, event.ErrSilentSync):
			r.statusf(e.Time, "%s: %s", describe(e.Target), text)
		default:
			r.statusf(e.Time, "%s can't be read, trying again: %s%s", describe(e.Target), text, unreadableHint(e.Target, text))
		}
		return false
	case !known:
		return true
	case e.Type == event.Disconnected:
		delete(r.unreadable, key) // the connection was lost, which the caller reports
		return true
	}
	delete(r.unreadable, key)
	r.lastCause = ""
	if reported && e.Type.Phase() == event.PhaseLive {
		r.statusf(e.Time, "%s can be read again", describe(e.Target))
	}
	return false
}

// isServerAnswer reports whether err is a server's answer about a resource, and not about the connection or the credentials.
func isServerAnswer(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && !apierrors.IsUnauthorized(err) && !apierrors.HasStatusCause(err, "ClientWatchDecoding")
}

// withoutTarget returns err without the target, which the line already names.
func withoutTarget(err error) error {
	if of, ok := errors.AsType[*event.TargetError](err); ok {
		return of.Err
	}
	return err
}

// unreadableHint returns a suffix that tells the user where to look for the cause. It may be empty.
func unreadableHint(t event.Target, text string) string {
	r := t.Resource()
	switch {
	case strings.Contains(text, "conversion webhook"):
		return "; look at spec.conversion of the CustomResourceDefinition " + r.GroupResource().String() + ", and whether its webhook answers"
	case strings.Contains(text, "unable to handle the request") && r.Group != "":
		return "; look at the APIService " + r.Version + "." + r.Group
	}
	return ""
}
