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
	lose := func(loss event.Type) input { return func(p *progress) event.Type { return p.lose(loss) } }
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
		{progress{}, refuse(denied), progress{refused, denied}, ""},
		{progress{}, lose(lost), progress{connecting, lost}, lost}, // a server that does not send initial events
		{progress{connecting, lost}, connect, progress{phase: syncing}, ""},
		{progress{}, vanish, progress{phase: ended}, event.Gone},
		// Refused, but not reported.
		{progress{refused, denied}, lose(denied), progress{refused, denied}, ""},
		{progress{refused, denied}, lose(lost), progress{waiting, lost}, lost},
		{progress{refused, denied}, connect, progress{phase: syncing}, ""},
		{progress{refused, denied}, refuse(lost), progress{refused, denied}, ""},
		{progress{waiting, lost}, lose(denied), progress{waiting, denied}, denied},
		{progress{waiting, denied}, connect, progress{phase: syncing}, ""},
		{progress{phase: waiting}, connect, progress{phase: syncing}, ""}, // joined after the start
		// Synchronization. A loss ends without a status event because SYNCED follows.
		{progress{phase: syncing}, lose(lost), progress{syncing, lost}, lost},
		{progress{syncing, lost}, lose(lost), progress{syncing, lost}, ""},
		{progress{syncing, lost}, connect, progress{phase: syncing}, ""},
		{progress{phase: syncing}, sync, progress{phase: live}, event.Synced},
		{progress{syncing, lost}, sync, progress{live, lost}, event.Synced},
		// Live.
		{progress{phase: live}, sync, progress{phase: live}, ""},
		{progress{phase: live}, resume, progress{phase: live}, ""},
		{progress{phase: live}, lose(lost), progress{live, lost}, lost},
		{progress{live, lost}, lose(denied), progress{live, denied}, denied},
		{progress{live, denied}, resume, progress{phase: live}, event.Reconnected},
		{progress{live, lost}, connect, progress{phase: live}, ""}, // GAP follows
		{progress{phase: live}, refuse(denied), progress{phase: live}, ""},
		// A new session.
		{progress{phase: live}, beginSession, progress{phase: syncing}, ""},
		{progress{live, lost}, beginSession, progress{syncing, lost}, ""},
		{progress{phase: live}, vanish, progress{phase: ended}, event.Gone},
		{progress{live, lost}, vanish, progress{phase: ended}, event.Gone},
	} {
		to := m.from
		if status := m.do(&to); to != m.to || status != m.status {
			t.Errorf("%d, from %v: got %v and status %q, want %v and %q", i, m.from, to, status, m.to, m.status)
		}
	}
}
