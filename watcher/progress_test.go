package watcher

import (
	"testing"

	"dwatch/watcher/event"
)

// TestProgress checks each transition that can happen in each phase.
func TestProgress(t *testing.T) {
	const lost, denied = event.Disconnected, event.Denied
	type input func(p *progress) event.Type
	silent := func(do func(*progress)) input {
		return func(p *progress) event.Type {
			do(p)
			return ""
		}
	}
	beginSession := silent((*progress).beginSession)
	connect := func(p *progress) event.Type { return p.connect(false) }
	resume := func(p *progress) event.Type { return p.connect(true) }
	refuse := func(loss event.Type) input { return silent(func(p *progress) { p.refuse(loss) }) }
	lose := func(loss event.Type) input { return func(p *progress) event.Type { return p.lose(loss, false) } }
	vague := func(p *progress) event.Type { return p.lose(lost, true) }
	sync, vanish := (*progress).sync, (*progress).vanish
	for i, m := range []struct {
		from   progress
		do     input
		to     progress
		status event.Type
	}{
		// Start.
		{progress{}, beginSession, progress{}, ""},
		{progress{}, connect, progress{phase: syncing}, ""},
		{progress{}, refuse(denied), progress{refused, denied, false}, ""},
		{progress{}, lose(lost), progress{connecting, lost, false}, lost}, // a server that does not send initial events
		{progress{connecting, lost, false}, connect, progress{phase: syncing}, ""},
		{progress{}, vanish, progress{phase: ended}, event.Gone},
		// Refused, but not reported.
		{progress{refused, denied, false}, lose(denied), progress{refused, denied, false}, ""},
		{progress{refused, denied, false}, lose(lost), progress{waiting, lost, false}, lost},
		{progress{refused, denied, false}, connect, progress{phase: syncing}, ""},
		{progress{refused, denied, false}, refuse(lost), progress{refused, denied, false}, ""},
		{progress{waiting, lost, false}, lose(denied), progress{waiting, denied, false}, denied},
		{progress{waiting, denied, false}, connect, progress{phase: syncing}, ""},
		{progress{phase: waiting}, connect, progress{phase: syncing}, ""}, // joined after the start
		// Synchronization. A loss ends without a status event because SYNCED follows.
		{progress{phase: syncing}, lose(lost), progress{syncing, lost, false}, lost},
		{progress{syncing, lost, false}, lose(lost), progress{syncing, lost, false}, ""},
		{progress{syncing, lost, false}, connect, progress{phase: syncing}, ""},
		{progress{phase: syncing}, sync, progress{phase: live}, event.Synced},
		{progress{syncing, lost, false}, sync, progress{live, lost, false}, event.Synced},
		// Live.
		{progress{phase: live}, sync, progress{phase: live}, ""},
		{progress{phase: live}, resume, progress{phase: live}, ""},
		{progress{phase: live}, lose(lost), progress{live, lost, false}, lost},
		// A loss without a cause is reported again with its cause.
		{progress{phase: live}, vague, progress{live, lost, true}, lost},
		{progress{live, lost, true}, vague, progress{live, lost, true}, ""},
		{progress{live, lost, true}, lose(lost), progress{live, lost, false}, lost},
		{progress{live, lost, false}, vague, progress{live, lost, false}, ""},
		{progress{live, lost, true}, resume, progress{phase: live}, event.Reconnected},
		{progress{live, lost, false}, lose(denied), progress{live, denied, false}, denied},
		{progress{live, denied, false}, resume, progress{phase: live}, event.Reconnected},
		{progress{live, lost, false}, connect, progress{phase: live}, ""}, // GAP follows
		{progress{phase: live}, refuse(denied), progress{phase: live}, ""},
		// A new session.
		{progress{phase: live}, beginSession, progress{phase: syncing}, ""},
		{progress{live, lost, false}, beginSession, progress{syncing, lost, false}, ""},
		{progress{phase: live}, vanish, progress{phase: ended}, event.Gone},
		{progress{live, lost, false}, vanish, progress{phase: ended}, event.Gone},
	} {
		to := m.from
		if status := m.do(&to); to != m.to || status != m.status {
			t.Errorf("%d, from %v: got %v and status %q, want %v and %q", i, m.from, to, status, m.to, m.status)
		}
	}
}
