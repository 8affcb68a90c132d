package metrics

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"dwatch/watcher/event"
)

// loop is how far the loop of the watcher is: it delivers, at least heartbeats.
type loop struct {
	changed    time.Time // when it began, or ended, to deliver
	delivering bool
	waiting    bool // for what prints or delivers
}

// stuck is after how long something that should happen at once is taken to hang.
const stuck = 30 * time.Second

// Healthy returns what is wrong with the run itself. That nobody reads its stdout, or that there
// is no room in the queue of a receiver that is down, is not: to start it again would not help.
func (m *Metrics) CheckHealthy() error {
	m.mu.Lock()
	loop, watching, delivery := m.loop, m.watching && !m.ending, m.delivery
	m.mu.Unlock()
	since := time.Since(loop.changed)
	switch {
	case !watching: // what it does before and after that has timeouts
	case loop.waiting && (delivery == nil || delivery().Full):
	case loop.delivering && since > stuck:
		return fmt.Errorf("what was received has been on its way for %s", since.Round(time.Second))
	case !loop.delivering && since > stuck+3*m.Heartbeat:
		return fmt.Errorf("nothing has been heard of the watch itself for %s", since.Round(time.Second))
	}
	return nil
}

// Ready returns what is missing until the run does what it is for: all that exists has been
// reported, of several clusters in those that answer, of which there is one; and a receiver, if there is one that something waits for, was reached once.
func (m *Metrics) CheckReady() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.watching {
		return errors.New("connecting")
	}
	if m.ending {
		return errors.New("ending")
	}
	if len(m.clusters) > 0 && !slices.Contains(slices.Collect(maps.Values(m.clusters)), true) {
		return errors.New("no cluster has answered")
	}
	var missing []string
	for _, l := range m.links.All() {
		if l.Target.Cluster != "" && l.Phase() == event.PhaseLost {
			continue
		}
		if !l.Synced && !l.Denied && l.Phase() != event.PhaseGone {
			missing = append(missing, l.Target.Resource().GroupResource().String())
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		return fmt.Errorf("not synced: %s", strings.Join(slices.Compact(missing), ", "))
	}
	if m.delivery != nil {
		if s := m.delivery(); s.Waiting > 0 && !s.Reached {
			return errors.New("the receiver was not reached yet")
		}
	}
	return nil
}
