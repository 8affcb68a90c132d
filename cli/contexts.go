package cli

import (
	"context"
	"slices"
	"sync"
	"time"

	"dwatch/cli/cluster"
)

// followEvery is how often it is looked whether the kubeconfig has changed. What is new is taken when it
// has stayed as it is for as long: it may be half written.
const followEvery = time.Second

// follow has clusters join and leave as their contexts come and go, where all of them or those of a
// pattern are asked for, and begin anew where a context has become another one. working takes those
// that join.
func (f *fleet) follow(ctx context.Context, working *sync.WaitGroup) {
	if f.past.ends() {
		return
	}
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	taken := f.connection.KubeconfigFingerprint()
	for last := taken; ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := f.connection.KubeconfigFingerprint()
		if now != taken && now == last {
			taken = now
			f.take(ctx, working)
		}
		last = now
	}
}

// take makes the members those that the kubeconfig has.
func (f *fleet) take(ctx context.Context, working *sync.WaitGroup) {
	chosen, err := f.connection.ExistingContexts(f.isPlaced())
	if err != nil {
		f.warn("the contexts of the kubeconfig stay as they were: " + err.Error())
		return
	}
	follows := f.connection.HasDynamicContexts()
	before := f.all()
	var stay, gone, fresh []*member
	for _, m := range before {
		i := slices.IndexFunc(chosen, func(c cluster.KubeContext) bool { return c.Name == m.name })
		if i >= 0 && chosen[i].IsSameAs(m.KubeContext) || i < 0 && !follows {
			stay = append(stay, m)
		} else {
			gone = append(gone, m)
		}
	}
	for _, c := range chosen {
		if was := named(before, c.Name) != nil; named(stay, c.Name) == nil && (follows || was) {
			fresh = append(fresh, f.newMember(f.console, c))
		}
	}
	f.expect(before, fresh)
	for _, m := range gone {
		if next := named(fresh, m.name); next != nil {
			m.leave(ctx, errOther)
			next.heard = m.heard
		} else {
			m.leave(ctx, errNoContext)
		}
	}
	stay = append(stay, fresh...)
	f.members.Store(&stay)
	for _, m := range fresh {
		if named(before, m.name) == nil {
			m.console.say("the context is new in the kubeconfig")
		}
		f.metrics.AddCluster(m.name)
		m.launch(ctx, working)
	}
}

// named is the one of a name, or nil.
func named(all []*member, name string) *member {
	if i := slices.IndexFunc(all, func(m *member) bool { return m.name == name }); i >= 0 {
		return all[i]
	}
	return nil
}

// expect counts on those that join, before anybody leaves: what is decided then must not be decided
// without them. For one that begins anew --until waits when its watch has ended.
func (f *fleet) expect(before, fresh []*member) {
	for _, m := range fresh {
		if named(before, m.name) == nil {
			f.stages.wait.joins(m.awaited())
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.untried += len(fresh)
}

// leaves counts no more on a member whose watch has ended, and on its cluster unless it begins anew.
func (f *fleet) leaves(m *member, anew bool) {
	if !anew {
		f.stages.wait.leaves(m.name)
	}
	f.known.forget(m.name)
	f.mu.Lock()
	defer f.mu.Unlock()
	if delete(f.refusals, m.name); !m.tried {
		f.untried--
	}
}
