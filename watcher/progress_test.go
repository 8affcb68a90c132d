package watcher

import (
	"testing"

	"dwatch/watcher/event"
)

// TestProgress has all that can happen in each phase that makes sense.
func TestProgress(t *testing.T) {
	const lost, denied = event.Disconnected, event.Denied
	type input func(p *progress) event.Type
	silent := func(do func(*progress)) input {
		return func(p *progress) event.Type {
			do(p)
			return ""
		}
	}
	begins := silent((*progress).begin)
	answers := func(p *progress) event.Type { return p.answer(false) }
	resumes := func(p *progress) event.Type { return p.answer(true) }
	rejects := func(loss event.Type) input { return silent(func(p *progress) { p.reject(loss) }) }
	fails := func(loss event.Type) input { return func(p *progress) event.Type { return p.fail(loss) } }
	syncs, vanishes := (*progress).sync, (*progress).vanish
	for i, m := range []struct {
		from progress
		do   input
		to   progress
		mark event.Type
	}{
		// The start.
		{progress{}, begins, progress{}, ""},
		{progress{}, answers, progress{phase: syncing}, ""},
		{progress{}, rejects(denied), progress{rejected, denied}, ""},
		{progress{}, fails(lost), progress{connecting, lost}, lost}, // a server that is silent where it should stream
		{progress{connecting, lost}, answers, progress{phase: syncing}, ""},
		{progress{}, vanishes, progress{phase: ended}, event.Gone},
		// Refused, and not reported yet.
		{progress{rejected, denied}, fails(denied), progress{rejected, denied}, ""},
		{progress{rejected, denied}, fails(lost), progress{waiting, lost}, lost},
		{progress{rejected, denied}, answers, progress{phase: syncing}, ""},
		{progress{rejected, denied}, rejects(lost), progress{rejected, denied}, ""},
		{progress{waiting, lost}, fails(denied), progress{waiting, denied}, denied},
		{progress{waiting, denied}, answers, progress{phase: syncing}, ""},
		{progress{phase: waiting}, answers, progress{phase: syncing}, ""}, // joined later
		// A sync, and a loss in it: what comes next says more than a mark.
		{progress{phase: syncing}, fails(lost), progress{syncing, lost}, lost},
		{progress{syncing, lost}, fails(lost), progress{syncing, lost}, ""},
		{progress{syncing, lost}, answers, progress{phase: syncing}, ""},
		{progress{phase: syncing}, syncs, progress{phase: live}, event.Synced},
		{progress{syncing, lost}, syncs, progress{live, lost}, event.Synced},
		// Live.
		{progress{phase: live}, syncs, progress{phase: live}, ""},
		{progress{phase: live}, resumes, progress{phase: live}, ""},
		{progress{phase: live}, fails(lost), progress{live, lost}, lost},
		{progress{live, lost}, fails(denied), progress{live, denied}, denied},
		{progress{live, denied}, resumes, progress{phase: live}, event.Reconnected},
		{progress{live, lost}, answers, progress{phase: live}, ""}, // a GAP follows
		{progress{phase: live}, rejects(denied), progress{phase: live}, ""},
		// Another session.
		{progress{phase: live}, begins, progress{phase: syncing}, ""},
		{progress{live, lost}, begins, progress{syncing, lost}, ""},
		{progress{phase: live}, vanishes, progress{phase: ended}, event.Gone},
		{progress{live, lost}, vanishes, progress{phase: ended}, event.Gone},
	} {
		to := m.from
		if mark := m.do(&to); to != m.to || mark != m.mark {
			t.Errorf("%d, from %v: %v with mark %q, want %v with %q", i, m.from, to, mark, m.to, m.mark)
		}
	}
}
