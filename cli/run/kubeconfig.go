package run

import (
	"context"
	"slices"
	"sync"
	"time"

	"dwatch/cli/cluster"
)

// kubeconfigInterval is how often the kubeconfig is checked for changes. A change counts once it has stayed for as long, since a file
// may be half written.
const kubeconfigInterval = time.Second

// followKubeconfig starts and stops members as contexts come and go, if the command line selects all contexts or a pattern, and restarts a
// member whose context has changed. working waits for new members. With --before it does nothing.
func (c *clusters) followKubeconfig(ctx context.Context, working *sync.WaitGroup) {
	if c.run.cfg.OnlyPast() {
		return
	}
	tick := time.NewTicker(kubeconfigInterval)
	defer tick.Stop()
	applied := c.run.cfg.Connection.KubeconfigFingerprint()
	for last := applied; ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := c.run.cfg.Connection.KubeconfigFingerprint()
		if now != applied && now == last {
			applied = now
			c.applyKubeconfig(ctx, working)
		}
		last = now
	}
}

func (c *clusters) applyKubeconfig(ctx context.Context, working *sync.WaitGroup) {
	connection := c.run.cfg.Connection
	chosen, err := connection.ExistingContexts(c.run.cfg.Selection.NamesNamespaces())
	if err != nil {
		c.console.Warn("keeping the previous contexts of the kubeconfig: " + err.Error())
		return
	}
	follows := connection.HasDynamicContexts()
	before := c.all()
	var stay, gone, fresh []*member
	for _, m := range before {
		i := slices.IndexFunc(chosen, func(k cluster.KubeContext) bool { return k.Name == m.name })
		if i >= 0 && chosen[i].IsSameAs(m.context) || i < 0 && !follows {
			stay = append(stay, m)
		} else {
			gone = append(gone, m)
		}
	}
	for _, k := range chosen {
		if existed := memberNamed(before, k.Name) != nil; memberNamed(stay, k.Name) == nil && (follows || existed) {
			fresh = append(fresh, c.newMember(k))
		}
	}
	c.expect(before, fresh)
	for _, m := range gone {
		if next := memberNamed(fresh, m.name); next != nil {
			m.leave(ctx, errContextChanged)
			next.everAnswered = m.everAnswered
		} else {
			m.leave(ctx, errContextRemoved)
		}
	}
	stay = append(stay, fresh...)
	c.members.Store(&stay)
	for _, m := range fresh {
		if memberNamed(before, m.name) == nil {
			m.console.Say("the context is new in the kubeconfig")
		}
		c.run.metrics.AddCluster(m.name)
		m.start(ctx, working)
	}
}

func memberNamed(all []*member, name string) *member {
	if i := slices.IndexFunc(all, func(m *member) bool { return m.name == name }); i >= 0 {
		return all[i]
	}
	return nil
}

// expect makes the condition and the count of first tries wait for new members, before any member leaves. For a member that restarts,
// the condition waits from the end of its watch on.
func (c *clusters) expect(before, fresh []*member) {
	for _, m := range fresh {
		if memberNamed(before, m.name) == nil {
			c.run.condition.clusterJoins(m.awaited())
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.untried += len(fresh)
}

// forget removes the state of a member whose watch has ended from c. Unless it restarts, --until no longer waits for its cluster.
func (c *clusters) forget(m *member, restarts bool) {
	if !restarts {
		c.run.condition.clusterLeaves(m.name)
	}
	c.uids.remove(m.name)
	c.mu.Lock()
	defer c.mu.Unlock()
	if delete(c.refusals, m.name); !m.tried {
		c.untried--
	}
}
