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

// loop is the state of the watcher's loop, which delivers events, or at least heartbeats.
type loop struct {
	changed    time.Time // when a delivery or the output stage began or ended
	delivering bool
	waiting    bool // the output stage is waiting for the output or the delivery
}

// stuck is how long the loop may make no progress before it is considered hung.
const stuck = 30 * time.Second

// CheckHealthy returns an error if the run hangs, so that restarting it may help. A blocked stdout, or a full queue of a
// receiver that is down, is not an error.
func (m *Metrics) CheckHealthy() error {
	m.mu.Lock()
	loop, watching, delivery := m.loop, m.watching && !m.ending, m.delivery
	m.mu.Unlock()
	since := time.Since(loop.changed)
	switch {
	case !watching: // connecting and stopping have timeouts
	case loop.waiting && (delivery == nil || delivery().Full):
	case loop.delivering && since > stuck:
		return fmt.Errorf("received events have not been processed for %s", since.Round(time.Second))
	case !loop.delivering && since > stuck+3*m.Heartbeat:
		return fmt.Errorf("the watch loop has not responded for %s", since.Round(time.Second))
	}
	return nil
}

// CheckReady returns an error until the run works: the existing objects of all watched resources have been reported, and the
// receiver was reached once if events wait for it. Of several clusters, at least one must have answered. Clusters that have
// lost the connection are ignored.
func (m *Metrics) CheckReady() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.watching {
		return errors.New("connecting")
	}
	if m.ending {
		return errors.New("stopping")
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
			return errors.New("the receiver has not been reached yet")
		}
	}
	return nil
}
