package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// soak runs one dwatch for a long time, with a rule for each kind of receiver, while tokens, certificates and credentials
// are replaced in turn.
//
//	writers --> API server --> gate --> dwatch --> webhook, NATS, Kafka --> records
//	                ^                      ^              ^                    |
//	                +------- rotations ----+--------------+          compared with etcd at the end
//
// soak also measures the resource use of dwatch.
type soak struct {
	soakOptions
	dir       string
	api       *soakAPI
	receivers *soakReceivers
	rules     *mount // rules.yaml
	client    dynamic.Interface
	writers   []*writer
	records   map[string]*record // by rule
	samples   []*sample

	countMu sync.Mutex
	rotated map[string]*rotated

	// rotating is held during a replacement, so that only one happens at a time.
	rotating sync.Mutex

	wroteMu sync.Mutex
	wrote   map[state]time.Time // acknowledged states, with the time of the acknowledgement

	child  *exec.Cmd
	ended  chan struct{} // closed when the child has ended
	listen string        // HOST:PORT of dwatch's --listen
}

// soakOptions configure a soak.
type soakOptions struct {
	binary string
	seed   uint64
	lasts  time.Duration
	every  time.Duration // interval of rotations and samples
	pace   time.Duration // mean wait of each writer between two changes
}

// soakStrict are the rules that must deliver each state. The rule soakChanging changes, and must deliver the last states.
var soakStrict = []string{"web", "stream", "topic"}

const soakChanging = "changing"

func runSoak(ctx context.Context, o soakOptions) (err error) {
	s := &soak{soakOptions: o, records: map[string]*record{}, rotated: map[string]*rotated{}, wrote: map[state]time.Time{}}
	for _, rule := range append([]string{soakChanging}, soakStrict...) {
		s.records[rule] = newRecord(false)
	}
	s.records["topic"].apart = true
	if s.dir, err = os.MkdirTemp("", "dwatch-soak-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.tearDown()) }()
	if err := s.setUp(ctx); err != nil {
		return err
	}
	say("for %v, one credential, certificate or process is replaced every %v", o.lasts, o.every)
	if err := s.proceed(ctx); err != nil {
		return err
	}
	say("the writers stop; comparing")
	return s.finish(context.WithoutCancel(ctx))
}

// setUp starts the server, the receivers and dwatch. dwatch has only the rights that dwatch rbac prints.
func (s *soak) setUp(ctx context.Context) error {
	server, err := startServer()
	if err != nil {
		return err
	}
	if s.api, err = newSoakAPI(server, s.dir); err != nil {
		return errors.Join(err, server.stop())
	}
	if s.client, err = dynamic.NewForConfig(s.api.admin); err != nil {
		return err
	}
	if s.receivers, err = newSoakReceivers(s.dir, s.records); err != nil {
		return err
	}
	if s.rules, err = newMount(filepath.Join(s.dir, "rules")); err != nil {
		return err
	}
	port, err := freePort()
	if err != nil {
		return err
	}
	s.listen = fmt.Sprintf("127.0.0.1:%d", port)
	if err := errors.Join(s.setRules(false), s.makeAccount(ctx)); err != nil {
		return err
	}
	if err := errors.Join(s.api.newToken(ctx), s.api.newCertificate(ctx), s.api.known.set(map[string][]byte{"ca.crt": s.api.own.PEM})); err != nil {
		return err
	}
	s.hireWriters()
	if err := s.start(); err != nil {
		return err
	}
	return eventually(ctx, "dwatch is ready", func() bool { return s.isOK(ctx, "/readyz") })
}

// makeAccount creates the namespaces, and a service account with the rights that dwatch rbac prints.
func (s *soak) makeAccount(ctx context.Context) error {
	namespaces := s.client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"})
	for _, name := range append([]string{account}, soakNamespaces...) {
		n := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace"}}
		n.SetName(name)
		if _, err := namespaces.Create(ctx, n, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	a := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ServiceAccount"}}
	a.SetName(account)
	accounts := s.client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"})
	if _, err := accounts.Namespace(account).Create(ctx, a, metav1.CreateOptions{}); err != nil {
		return err
	}
	rbac := exec.CommandContext(ctx, s.binary, append([]string{"rbac"}, append(s.arguments(),
		"--as", "system:serviceaccount:"+account+":"+account, "--kubeconfig", s.api.cluster.Kubeconfig)...)...)
	rbac.Stderr = os.Stderr
	roles, err := rbac.Output()
	if err != nil {
		return fmt.Errorf("dwatch rbac: %w", err)
	}
	path := filepath.Join(s.dir, "roles.yaml")
	if err := os.WriteFile(path, roles, 0o600); err != nil {
		return err
	}
	_, err = s.api.cluster.Run("apply", path)
	return err
}

var soakNamespaces = []string{"soak-a", "soak-b"}

// arguments returns the arguments of dwatch without --kubeconfig.
func (s *soak) arguments() []string {
	verify := max(min(s.lasts/10, 3*time.Minute), 10*time.Second)
	return []string{"send", "-f", s.rules.path("rules.yaml"), "--state", filepath.Join(s.dir, "state"), "--listen", s.listen, "--verify", verify.String()}
}

// setRules writes the file with the rules. If changed is true, the rule soakChanging has another rate, and there is an
// additional rule.
func (s *soak) setRules(changed bool) error {
	rate, more := 50, ""
	hook, known := s.receivers.hook.address, s.receivers.known.path
	const all = "{resources: [configmaps, secrets, things.chaos.dwatch.test], namespace: [soak-a, soak-b], show-secrets: true, max-backoff: 2s, deadline: 20s, "
	web := fmt.Sprintf("to-token-file: %q, to-ca: %q", known("token"), known("ca.crt"))
	if changed {
		rate, more = 60, fmt.Sprintf("- %sname: guest, changes: true, to: https://%s/guest, %s}\n", all, hook, web)
	}
	text := "apiVersion: dwatch/v1alpha1\nkind: Rules\nrules:\n" +
		fmt.Sprintf("- %sname: web, to: https://%s/web, %s}\n", all, hook, web) +
		fmt.Sprintf("- %sname: stream, to: tls://%s/%s, nats-creds: %q, to-ca: %q}\n", all, s.receivers.nats.Address, soakSubject, known("nats.creds"), known("ca.crt")) +
		fmt.Sprintf("- %sname: topic, to: kafka+tls://%s/%s, kafka-login: %q, to-ca: %q}\n", all, s.receivers.kafka.Address, soakSubject, known("login"), known("ca.crt")) +
		fmt.Sprintf("- %sname: %s, rate: %d, to: https://%s/%s, %s}\n", all, soakChanging, rate, hook, soakChanging, web) + more
	return s.rules.set(map[string][]byte{"rules.yaml": []byte(text)})
}

func (s *soak) hireWriters() {
	for _, r := range resources {
		for _, namespace := range soakNamespaces {
			s.writers = append(s.writers, &writer{
				client: s.client.Resource(r.GroupVersionResource).Namespace(namespace), resource: r, namespace: namespace, label: account,
				rng: rand.New(rand.NewPCG(s.seed, uint64(len(s.writers)+1))), pace: s.pace, known: map[string]acknowledged{},
				modest: true, wrote: s.noteWritten,
			})
		}
	}
}

func (s *soak) noteWritten(is state) {
	s.wroteMu.Lock()
	defer s.wroteMu.Unlock()
	s.wrote[is] = time.Now()
}

// start starts dwatch.
func (s *soak) start() error {
	kubeconfig := filepath.Join(s.dir, "kubeconfig")
	if err := s.api.kubeconfig(kubeconfig); err != nil {
		return err
	}
	said, err := os.Create(s.said())
	if err != nil {
		return err
	}
	defer said.Close() // the child has its own descriptor
	s.child = exec.Command(s.binary, append(s.arguments(), "--kubeconfig", kubeconfig)...)
	s.child.Stdout, s.child.Stderr = said, said
	if err := s.child.Start(); err != nil {
		return err
	}
	s.ended = make(chan struct{})
	go func() {
		s.child.Wait() // end and watchChild check ProcessState
		close(s.ended)
	}()
	return nil
}

// said returns the path of the file with the output of dwatch.
func (s *soak) said() string { return filepath.Join(s.dir, "said") }

// proceed writes, rotates and measures until the time is over.
func (s *soak) proceed(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.lasts)
	defer cancel()
	var going errgroup.Group
	for _, w := range s.writers {
		going.Go(func() error { w.run(ctx); return nil })
	}
	var failed atomic.Pointer[error]
	for _, do := range []func(context.Context) error{s.rotate, s.renewTokens, s.renewCredentials, s.renewAuthority, s.measure, s.watchChild} {
		going.Go(func() error {
			err := unlessOver(ctx, do(ctx))
			if err != nil && failed.CompareAndSwap(nil, &err) {
				cancel() // stop the others
			}
			return nil
		})
	}
	going.Wait()
	if err := failed.Load(); err != nil {
		fmt.Print(s.report(&sample{}))
		return fmt.Errorf("%w\nthe last output of dwatch:\n%s", *err, s.lastWords())
	}
	return nil
}

func (s *soak) watchChild(ctx context.Context) error {
	select {
	case <-s.ended:
		return fmt.Errorf("dwatch ended by itself: %v", s.child.ProcessState)
	case <-ctx.Done():
		return nil
	}
}

// lastWords returns the last lines of dwatch's output, without successful results of --verify.
func (s *soak) lastWords() string {
	text, _ := os.ReadFile(s.said()) // best effort: only explains another error
	lines := slices.DeleteFunc(strings.SplitAfter(string(text), "\n"), func(line string) bool {
		return strings.HasSuffix(line, ": nothing was missed\n")
	})
	return strings.Join(lines[max(0, len(lines)-50):], "")
}

func (s *soak) tearDown() error {
	var errs []error
	if s.child != nil && s.child.Process != nil {
		s.child.Process.Kill()
		<-s.ended
	}
	if s.receivers != nil {
		errs = append(errs, s.receivers.stop())
	}
	if s.api != nil {
		s.api.Close()
		errs = append(errs, s.api.stop())
	}
	return errors.Join(append(errs, os.RemoveAll(s.dir))...)
}

// finish compares the deliveries with the objects in etcd, and prints the resource use of dwatch.
func (s *soak) finish(ctx context.Context) error {
	if err := errors.Join(s.api.newToken(ctx), s.receivers.newCredentials(time.Hour)); err != nil { // the last ones may be expired on purpose
		return err
	}
	for _, w := range s.writers {
		if _, err := w.sentinel(ctx); err != nil {
			return err
		}
	}
	truth, err := readTruth(ctx, s.client, soakNamespaces, "")
	if err != nil {
		return err
	}
	for _, rule := range []string{"web", soakChanging} {
		r := s.records[rule]
		r.await(finalWithin, func() bool { return len(r.compareLocked(truth)) == 0 })
	}
	var last *sample
	if err := eventually(ctx, "nothing waits", func() bool {
		last, err = s.sample(ctx)
		return err == nil && last.waiting == 0
	}); err != nil {
		return fmt.Errorf("%w: %v", err, last)
	}
	errs := []error{s.end(), s.receivers.readStream(ctx, s.records["stream"]), s.receivers.readTopic(ctx, s.records["topic"])}
	wrong := s.verdict(last, truth)
	fmt.Print(s.report(last))
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if len(wrong) == 0 {
		return nil
	}
	fmt.Fprintln(os.Stderr, strings.Join(wrong[:min(len(wrong), 50)], "\n"))
	fmt.Fprintln(os.Stderr, "the last output of dwatch:\n"+s.lastWords())
	return errLies
}

// end sends SIGTERM, as the kubelet does. It returns an error if dwatch fails or takes longer than a pod may.
func (s *soak) end() error {
	s.child.Process.Signal(syscall.SIGTERM)
	select {
	case <-s.ended:
	case <-time.After(30 * time.Second): // the grace of a pod
		return errors.New("dwatch does not end")
	}
	if !s.child.ProcessState.Success() {
		return fmt.Errorf("dwatch ended with %v", s.child.ProcessState)
	}
	return nil
}

// verdict returns the problems of the run.
func (s *soak) verdict(last *sample, t truth) (wrong []string) {
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	for rule, r := range s.records {
		r.mu.Lock()
		for _, p := range append(r.wrong, r.compareLocked(t)...) {
			say("%s: %s: %s", rule, p.fail, p.text)
		}
		r.mu.Unlock()
	}
	for _, rule := range soakStrict {
		for is, at := range s.wrote {
			if s.records[rule].delivered[is] == nil && !s.api.mayMiss(at) {
				say("%s: lost: %s at %s, written at %s, was not delivered", rule, is.uid, is.version, at.Format(time.TimeOnly))
			}
		}
	}
	if last.missed != 0 {
		say("dwatch_missed_total is %v", last.missed)
	}
	if last.givenUp != 0 {
		say("dwatch_delivery_given_up_total is %v", last.givenUp)
	}
	if last.verified == 0 {
		say("--verify has not compared anything")
	}
	if last.reloaded != 1 {
		say("dwatch does not run the rules of the file")
	}
	for _, m := range measures {
		if why := m.grows(s.samples); why != "" {
			say("%s", why)
		}
	}
	return wrong
}
