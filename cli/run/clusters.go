package run

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/cli/console"
	"dwatch/cli/lookup"
	"dwatch/output"
	"dwatch/watcher/event"
	"dwatch/watcher/until"
)

// clusters watches several clusters. Each has its own connections, session and retries (member), and none waits for another.
// Their events meet in Deliver, one batch at a time. It is one type because its mutex guards all that the clusters share.
type clusters struct {
	run     *Run
	console *console.Console
	scope   *Scope
	members atomic.Pointer[[]*member] // the present members; after openClusters, only applyKubeconfig replaces the slice
	left    sync.Map                  // the last session of each cluster that has left, by name
	uids    ClusterUIDs
	names   shortNames
	stop    context.CancelFunc // ends Run

	mu       sync.Mutex               // guards what follows, and what the shared stages use
	sink     event.Sink               // the shared stages
	failed   error                    // ends the run
	untried  int                      // members whose first try has no result yet
	answered bool                     // a member has answered
	refusals map[string]error         // why the first try of a member failed, by name
	warned   map[string]bool          // the warnings that warnOnce has printed
	pasts    map[string]reconstructed // with --before, by name
}

// openClusters makes a member for each cluster. It does not wait for any of them.
func openClusters(ctx context.Context, r *Run) (Source, error) {
	chosen, err := r.cfg.Connection.SelectedContexts(r.cfg.Selection.NamesNamespaces())
	if err != nil {
		return nil, err
	}
	request := r.cfg.Selection.Request
	request.AwaitsObjects = r.cfg.Ending.Until.IsSet()
	r.cfg.Selection.Request = request
	c := &clusters{
		run: r, console: r.console, untried: len(chosen),
		refusals: map[string]error{}, warned: map[string]bool{}, pasts: map[string]reconstructed{},
	}
	c.names = shortNames{mappers: c.shortName, short: map[schema.GroupVersionResource]string{}}
	var members []*member
	for _, m := range chosen {
		members = append(members, c.newMember(m))
	}
	c.members.Store(&members)
	c.scope = &Scope{
		Console: r.console, Request: request,
		Mixed:          len(request.Arguments) > 1,
		ShowNamespaces: (&Session{Request: request}).ShowsNamespaces() || len(request.Namespaces) == 0 && HaveDifferentNamespaces(chosen),
		Clusters:       c.standing, ShortName: c.names.get, Origin: c.origin, Lookup: c.lookup,
		Unreachable: c.unreachable, Awaited: c.awaited, Status: c.status,
	}
	r.state, err = r.openSharedState()
	return c, err
}

// Scope implements Source.
func (c *clusters) Scope() *Scope { return c.scope }

func (c *clusters) all() []*member { return *c.members.Load() }

// Run implements Source. It returns when ctx has ended or a member has ended the run (fail, tried, addPast), and all members have
// ended.
func (c *clusters) Run(ctx context.Context, sink event.Sink) error {
	for _, m := range c.all() {
		c.run.metrics.AddCluster(m.name)
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	c.sink, c.stop = sink, stop
	var all sync.WaitGroup
	for _, m := range c.all() {
		m.start(running, &all)
	}
	all.Go(func() { c.beat(running) })
	all.Go(func() { c.followKubeconfig(running, &all) })
	all.Wait()
	c.finishPast(ctx)
	c.warnUnanswered(ctx)
	return c.failed
}

// warnUnanswered names the clusters that never answered, if others did. A condition and --before report that themselves, and a run
// whose reader has gone reports nothing.
func (c *clusters) warnUnanswered(ctx context.Context) {
	c.mu.Lock()
	answered := c.answered
	c.mu.Unlock()
	if !answered || c.run.cfg.OnlyPast() || c.run.cfg.Ending.Until.IsSet() || errors.Is(context.Cause(ctx), console.ErrReaderGone) {
		return
	}
	for _, m := range c.all() {
		if !m.everAnswered {
			m.console.Warn("could not be watched: its changes are unknown")
		}
	}
}

// Deliver implements event.Sink for all members.
func (c *clusters) Deliver(ctx context.Context, batch []event.Event) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed != nil {
		return c.failed
	}
	err := c.sink.Deliver(ctx, batch)
	if err != nil {
		c.failLocked(err)
	}
	return err
}

func (c *clusters) failLocked(err error) {
	if c.failed == nil {
		c.failed = err
	}
	c.stop()
}

// fail ends the run.
func (c *clusters) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failLocked(err)
}

// tried notes the result of a member's first try. If all clusters refuse, the run ends, as it does with one cluster.
func (c *clusters) tried(m *member, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m.tried {
		return
	}
	m.tried = true
	c.untried--
	if err == nil {
		c.answered = true
		return
	}
	c.refusals[m.name] = PrefixError(m.name, err)
	if c.untried == 0 && !c.answered {
		var all []error
		for _, m := range c.all() {
			all = append(all, c.refusals[m.name])
		}
		c.failLocked(errors.Join(all...))
	}
}

// warnOnce returns a function that warns on the console of a member, unless another member has warned of the same.
func (c *clusters) warnOnce(m *member) func(line string) {
	return func(line string) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if !c.warned[line] {
			c.warned[line] = true
			m.console.Warn(line)
		}
	}
}

// beat delivers heartbeats for the members that do not watch at present.
func (c *clusters) beat(ctx context.Context) {
	every := cmp.Or(c.run.cfg.HeartbeatEvery(), c.run.metrics.HeartbeatInterval())
	if every == 0 {
		return
	}
	for tick := time.NewTicker(every); ; {
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case now := <-tick.C:
			for _, m := range c.all() {
				if !m.watches.Load() {
					_ = c.Deliver(ctx, []event.Event{{Type: event.Heartbeat, Target: event.Target{Cluster: m.name}, Time: now}})
				}
			}
		}
	}
}

func (c *clusters) awaited() (awaited []until.AwaitedTarget) {
	for _, m := range c.all() {
		awaited = append(awaited, m.awaited())
	}
	return awaited
}

// standing says of each cluster whether it answers.
func (c *clusters) standing() (all []event.Cluster) {
	for _, m := range c.all() {
		all = append(all, event.Cluster{Name: m.name, Started: m.watches.Load(), ConnectError: m.unreachable.String()})
	}
	return all
}

func (c *clusters) named(name string) *member {
	for _, m := range c.all() {
		if m.name == name {
			return m
		}
	}
	return nil
}

func (c *clusters) unreachable(cluster string) string {
	if m := c.named(cluster); m != nil {
		return m.unreachable.String()
	}
	return ""
}

// lookup returns the client of a cluster that has answered, also after it has left.
func (c *clusters) lookup(cluster string) *lookup.Client {
	if m := c.named(cluster); m != nil {
		if s := m.session.Load(); s != nil {
			return s.Lookup
		}
	}
	if s, known := c.left.Load(cluster); known {
		return s.(*Session).Lookup
	}
	return nil
}

func (c *clusters) origin(_ context.Context, cluster string) (string, error) {
	if m := c.named(cluster); m != nil {
		if origin := m.origin.Load(); origin != nil {
			return *origin, nil
		}
	}
	return "", nil
}

// holdsWithoutObjects asks the condition on behalf of a reporter in the goroutine of a member.
func (c *clusters) holdsWithoutObjects(e *event.Event) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.run.condition.holdsWithoutObjects(e)
}

func (c *clusters) status() string {
	var parts []string
	for _, m := range c.all() {
		parts = append(parts, m.name+": "+m.status())
	}
	return strings.Join(parts, "; ")
}

// note returns a function that shows, in order with the events, the status of a member. It is nil if the destination does not do that.
func (c *clusters) note(name string) func(time.Time, string) {
	if c.run.note == nil {
		return nil
	}
	return func(at time.Time, text string) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.run.note(at, output.EscapeLine(name)+": "+text)
	}
}

// shortName returns the short name of a resource at the first cluster that has one, or the full name.
func (c *clusters) shortName(r schema.GroupVersionResource) string {
	full := r.GroupResource().String()
	for _, m := range c.all() {
		if s := m.session.Load(); s != nil {
			if short := s.Mapper.ShortName(r); short != full {
				return short
			}
		}
	}
	return full
}

// shortNames caches the names that are shorter than the full ones.
type shortNames struct {
	mappers func(schema.GroupVersionResource) string
	mu      sync.Mutex
	short   map[schema.GroupVersionResource]string
}

func (n *shortNames) get(r schema.GroupVersionResource) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if short := n.short[r]; short != "" {
		return short
	}
	short := n.mappers(r)
	if short != r.GroupResource().String() {
		n.short[r] = short
	}
	return short
}
