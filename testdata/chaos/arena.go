package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// recoverWithin is how long after a fault dwatch may be silent, though there are
// changes. Its longest wait between two tries is half a minute, client-go's a whole
// one; to notice that a watch is dead may take some.
const recoverWithin = 4 * time.Minute

// arenaOptions say what meets in an arena.
type arenaOptions struct {
	// label is the arena's own, in labels and names.
	label  string
	server *server
	binary string
	seed   uint64
	// pace is the mean wait of each writer between two changes.
	pace time.Duration
	// state: dwatch keeps its state in a file.
	state bool
	// deliver: it delivers to receivers, with a state file.
	deliver bool
}

// arena is where writers, faults and dwatch meet: namespaces of its own, and a
// proxy of its own.
type arena struct {
	arenaOptions
	dir        string
	namespaces []string
	client     dynamic.Interface
	proxy      *proxy
	rng        *rand.Rand
	watchers   []*dwatch

	writers    []*writer
	writing    sync.WaitGroup
	pause      context.CancelFunc // of the writers
	reviving   sync.WaitGroup
	endRevival context.CancelFunc // ends the revival of dwatch, and the measuring
	disk       disk

	figures figures
}

func newArena(ctx context.Context, o arenaOptions) (*arena, error) {
	o.state = o.state || o.deliver
	a := &arena{
		arenaOptions: o,
		namespaces:   []string{o.label + "-a", o.label + "-b"},
		rng:          rand.New(rand.NewPCG(o.seed, 0)),
		pause:        func() {},
		endRevival:   func() {},
		figures:      newFigures(o.seed),
	}
	var err error
	if a.client, err = dynamic.NewForConfig(o.server.config); err != nil {
		return nil, err
	}
	if a.dir, err = os.MkdirTemp("", "dwatch-chaos-"); err != nil {
		return nil, err
	}
	if err := errors.Join(a.setUp(ctx), a.startWriters(ctx)); err != nil {
		return nil, errors.Join(err, a.tearDown())
	}
	if a.state {
		reviving, endRevival := context.WithCancel(ctx)
		a.endRevival = endRevival
		a.reviving.Go(func() { a.supervise(reviving) })
		a.reviving.Go(func() {
			if err := a.disk.measure(reviving, appending(a.dir)); err != nil {
				a.watchers[0].note(lost, "the disk can't be measured: %v", err)
			}
		})
	}
	return a, nil
}

func (a *arena) setUp(ctx context.Context) error {
	namespaces := a.client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"})
	for _, name := range a.namespaces {
		u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace"}}
		u.SetName(name)
		if _, err := namespaces.Create(ctx, u, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	tokens := credentials{path: filepath.Join(a.dir, "token.json")}
	if err := tokens.renew(); err != nil {
		return err
	}
	var err error
	if a.proxy, err = startProxy(a.server.config, tokens); err != nil {
		return err
	}
	path, err := kubeconfig(a.dir, a.proxy)
	if err != nil {
		return err
	}
	var all []string
	for _, r := range resources {
		all = append(all, r.GroupResource().String())
	}
	what := []string{"--kubeconfig", path, "-r", strings.Join(all, ",")}
	return errors.Join(
		// One speaks HTTP/2, which notices a dead connection by itself, soon.
		a.watch("plain", append(what, "-n", strings.Join(a.namespaces, ",")),
			"HTTP2_READ_IDLE_TIMEOUT_SECONDS=3", "HTTP2_PING_TIMEOUT_SECONDS=2"),
		a.watch("selecting", append(what, "-A", "-l", a.selector()), "DISABLE_HTTP2=1"),
	)
}

func (a *arena) selector() string { return "in=yes,chaos=" + a.label }

func (a *arena) watch(name string, args []string, env ...string) error {
	if a.state {
		args = append(args, "--state", filepath.Join(a.dir, name+".state"))
	}
	d := &dwatch{
		name: name, binary: a.binary, args: args, server: a.proxy.url(), env: append(env, "GORACE=halt_on_error=1 atexit_sleep_ms=0"),
		said: filepath.Join(a.dir, name+".stderr"), record: newRecord(name == "selecting"), revivable: a.state, disk: &a.disk,
	}
	if a.deliver {
		d.args = append(d.args, "--show-secrets", "--workers", "4", "--max-backoff", "2s", "--deadline", "5s")
		var err error
		if d.receiver, err = newReceiver(a.seed, d.receive); err != nil {
			return err
		}
	}
	a.watchers = append(a.watchers, d)
	return d.start()
}

// startWriters starts them once each dwatch watches everything.
func (a *arena) startWriters(ctx context.Context) error {
	for _, r := range resources {
		for _, namespace := range a.namespaces {
			a.writers = append(a.writers, &writer{
				client:    a.client.Resource(r.GroupVersionResource).Namespace(namespace),
				resource:  r,
				namespace: namespace,
				label:     a.label,
				rng:       rand.New(rand.NewPCG(a.seed, uint64(len(a.writers)+1))),
				pace:      a.pace,
				known:     map[string]acknowledged{},
			})
		}
	}
	if err := a.awaitSentinels(ctx); err != nil {
		return err
	}
	writing, pause := context.WithCancel(ctx)
	a.pause = pause
	for _, w := range a.writers {
		a.writing.Go(func() { w.run(writing) })
	}
	return nil
}

// inject brings a fault about. It reports whether anything was hit.
func (a *arena) inject(ctx context.Context, f fault, window time.Duration) (bool, error) {
	for _, d := range a.watchers {
		d.meets(f.name)
	}
	hit, err := f.inject(&injection{ctx: ctx, proxy: a.proxy, window: window, server: a.server, watchers: a.watchers})
	if err != nil {
		return hit, fmt.Errorf("%s: %w", f.name, err)
	}
	if hit {
		a.figures.injected(f.name)
	}
	return hit, nil
}

// recovered waits until each dwatch prints what happens from now on, of every
// resource in every namespace, and notes how long that took.
func (a *arena) recovered(name string) {
	over := time.Now()
	for _, d := range a.watchers {
		a.figures.silent(name, a.awaitLines(d, over))
	}
}

// awaitLines returns when d has printed something of every resource in every
// namespace since the fault was over, and how long that took.
func (a *arena) awaitLines(d *dwatch, over time.Time) time.Duration {
	back := func() bool {
		for _, w := range a.writers {
			if at := d.last[place{kind: w.kind, namespace: w.namespace}]; !at.After(over) {
				return false
			}
		}
		return true
	}
	if !d.await(recoverWithin, back) {
		d.note(lost, "nothing of some resource within %v", recoverWithin)
	}
	return time.Since(over)
}

func (a *arena) tearDown() error {
	a.pause()
	a.writing.Wait()
	a.endRevival()
	a.reviving.Wait()
	var errs []error
	for _, d := range a.watchers {
		errs = append(errs, d.stop())
		if d.receiver != nil {
			d.receiver.stop()
		}
	}
	if a.proxy != nil {
		a.proxy.stop()
	}
	return errors.Join(append(errs, os.RemoveAll(a.dir))...)
}
