package watcher

import (
	"testing"

	"dwatch/watcher/event"
)

// TestStage has all that can happen in each stage that makes sense.
func TestStage(t *testing.T) {
	type move struct {
		from stage
		h    happening
		loss event.Type
		to   stage
		mark event.Type
	}
	const lost, denied = event.Disconnected, event.Denied
	for _, m := range []move{
		// The start.
		{stage{}, begins, "", stage{}, ""},
		{stage{}, answers, "", stage{phase: syncing}, ""},
		{stage{}, rejects, denied, stage{rejected, denied}, ""},
		{stage{}, fails, lost, stage{connecting, lost}, lost}, // a server that is silent where it should stream
		{stage{connecting, lost}, answers, "", stage{phase: syncing}, ""},
		{stage{}, vanishes, "", stage{phase: ended}, event.Gone},
		// Refused, and not reported yet.
		{stage{rejected, denied}, fails, denied, stage{rejected, denied}, ""},
		{stage{rejected, denied}, fails, lost, stage{waiting, lost}, lost},
		{stage{rejected, denied}, answers, "", stage{phase: syncing}, ""},
		{stage{rejected, denied}, rejects, lost, stage{rejected, denied}, ""},
		{stage{waiting, lost}, fails, denied, stage{waiting, denied}, denied},
		{stage{waiting, denied}, answers, "", stage{phase: syncing}, ""},
		{stage{phase: waiting}, answers, "", stage{phase: syncing}, ""}, // joined later
		// A sync, and a loss in it: what comes next says more than a mark.
		{stage{phase: syncing}, fails, lost, stage{syncing, lost}, lost},
		{stage{syncing, lost}, fails, lost, stage{syncing, lost}, ""},
		{stage{syncing, lost}, answers, "", stage{phase: syncing}, ""},
		{stage{phase: syncing}, syncs, "", stage{phase: live}, event.Synced},
		{stage{syncing, lost}, syncs, "", stage{live, lost}, event.Synced},
		// Live.
		{stage{phase: live}, syncs, "", stage{phase: live}, ""},
		{stage{phase: live}, resumes, "", stage{phase: live}, ""},
		{stage{phase: live}, fails, lost, stage{live, lost}, lost},
		{stage{live, lost}, fails, denied, stage{live, denied}, denied},
		{stage{live, denied}, resumes, "", stage{phase: live}, event.Reconnected},
		{stage{live, lost}, answers, "", stage{phase: live}, ""}, // a GAP follows
		{stage{phase: live}, rejects, denied, stage{phase: live}, ""},
		// Another session.
		{stage{phase: live}, begins, "", stage{phase: syncing}, ""},
		{stage{live, lost}, begins, "", stage{syncing, lost}, ""},
		{stage{phase: live}, vanishes, "", stage{phase: ended}, event.Gone},
		{stage{live, lost}, vanishes, "", stage{phase: ended}, event.Gone},
	} {
		if to, mark := m.from.next(m.h, m.loss); to != m.to || mark != m.mark {
			t.Errorf("%v, happening %d (%s): %v with mark %q, want %v with %q", m.from, m.h, m.loss, to, mark, m.to, m.mark)
		}
	}
}
