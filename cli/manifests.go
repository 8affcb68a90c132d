package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/pflag"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"dwatch/cli/access"
	"dwatch/cli/cluster"
	"dwatch/cli/console"
	"dwatch/cli/destination"
	"dwatch/cli/fail"
	"dwatch/cli/flags"
	"dwatch/cli/manifest"
	"dwatch/cli/run"
	"dwatch/cli/supervisor"
	"dwatch/output/deliver"
	"dwatch/output/deliver/secret"
	"dwatch/output/text"
)

// manifestsOptions are the flags of dwatch manifests, and the flags of the command that runs in the cluster.
type manifestsOptions struct {
	options
	typed    []string // the whole command line
	manifest flags.Manifests
	made     *manifestsTask
}

func newManifestsOptions(of options, typed []string) options {
	return &manifestsOptions{options: of, typed: typed}
}

func (m *manifestsOptions) groups() []flags.Group {
	groups := m.options.groups()
	for _, g := range groups {
		records := g.Flags.Lookup("record") != nil // hides the other flags about that recording, too
		g.Flags.VisitAll(func(f *pflag.Flag) { f.Hidden = f.Hidden || records || whyNotInPod(f.Name) != "" })
	}
	return append([]flags.Group{flags.NewGroup("Manifests", m.manifest.AddTo)}, groups...)
}

// notInPod lists flags that do not work in a pod, and why. Help does not show them.
var notInPod = []struct {
	names []string
	why   string
}{
	{[]string{"until", "fail-if", "count", "timeout", "before"}, "ends the run, and Kubernetes would restart the pod each time"},
	{[]string{"until-for"}, "is for --until, which ends the run"},
	{[]string{"logs"}, "is for --until and --fail-if, which end the run"},
	{[]string{"since"}, "prints past changes, which would be repeated at each start"},
	{[]string{"redeliver"}, "sends a file and ends"},
	{[]string{"wait"}, "waits for resources, but the roles must name them"},
	{[]string{"check"}, "checks rules and ends"},
	{[]string{"from", "from-token-file", "from-ca"}, "reads a recording, which the pod does not have"},
	{[]string{"record"}, "needs a directory, which only the pod of dwatch manifests record has"},
	{[]string{"open"}, "opens a browser"},
	{[]string{"as", "as-group", "as-uid", "as-user-extra"}, "impersonates another user, but the pod uses its service account"},
}

// whyNotInPod returns why a flag does not work in a pod, or "" if it works.
func whyNotInPod(name string) string {
	for _, no := range notInPod {
		if slices.Contains(no.names, name) {
			return no.why
		}
	}
	return ""
}

func (m *manifestsOptions) complete(args []string, _ console.Terminal) error {
	if err := m.manifest.Parse(); err != nil {
		return err
	}
	var refused error
	m.shared().all.Visit(func(f *pflag.Flag) {
		if why := whyNotInPod(f.Name); why != "" && refused == nil {
			refused = fmt.Errorf("--%s %s: it cannot be combined with dwatch manifests", f.Name, why)
		}
	})
	if refused != nil {
		return refused
	}
	return m.options.complete(args, console.Terminal{})
}

func (m *manifestsOptions) validate() error {
	if err := m.options.validate(); err != nil {
		return err
	}
	of := m.options.task()
	led, isLed := of.(*leaseTask)
	if m.manifest.VolumePerPod && (!isLed || !led.replica.HasState) {
		return errors.New("--volume-per-pod is for several pods with state: it needs --lease and --state")
	}
	var lease flags.Lease
	if isLed {
		lease = led.replica.Lease
	}
	runs, rules := podRunsOf(of, m.options)
	if runs == nil {
		return errors.New("this command line does not watch a cluster: dwatch manifests is for command lines that do")
	}
	pod, err := m.pod(runs)
	if err != nil {
		return err
	}
	m.made = &manifestsTask{Manifests: m.manifest, lease: lease, runs: runs, pod: pod, roomy: runs[0].cfg.StateFile != "" || pod.writes}
	if rules != nil {
		m.made.rules, err = pod.addRules(rules, runs)
	}
	return err
}

func (m *manifestsOptions) task() task { return m.made }

// podRun is a run in a pod.
type podRun struct {
	cfg      run.Config
	need     run.Need
	receiver *destination.ReceiverOptions // of dwatch send, or nil
	page     *flags.Page                  // of dwatch serve, or nil
}

// podRunsOf returns the runs of a task, and its rules if there are any. It returns nil if the task does not watch.
func podRunsOf(t task, of options) (runs []podRun, rules *supervisor.Config) {
	add := func(w *watchTask) *podRun {
		w.cfg.Selection.AnyNamespace = true
		runs = append(runs, podRun{cfg: w.cfg, need: needOf(&w.cfg, w.to)})
		return &runs[len(runs)-1]
	}
	switch t := t.(type) {
	case *leaseTask:
		if t.rules != nil {
			return podRunsOf(&rulesTask{*t.rules}, of)
		}
		return podRunsOf(t.watch, of)
	case *rulesTask:
		for _, r := range t.Rules {
			w := &watchTask{cfg: r.Config, to: destination.NewReceiver(r.Receiver)}
			w.cfg.Listen = t.Listen // is checked for each rule
			add(w).receiver = &r.Receiver
		}
		return runs, &t.Config
	case *watchTask:
		if t.player != nil || t.browser != nil {
			return nil, nil
		}
		one := add(t)
		if t.receiver != nil {
			o := t.receiver.receiver()
			one.receiver = &o
		}
		if serve, is := of.(*serveOptions); is {
			one.page = &serve.page
		}
	}
	return runs, nil
}

// records reports whether dwatch record runs in the pod.
func (r *podRun) records() bool { return r.cfg.Recording.Dir != "" && !r.cfg.Recording.Tee }

// manifestsTask prints the manifests that run a command line in a cluster.
type manifestsTask struct {
	flags.Manifests
	lease flags.Lease
	runs  []podRun // one, or one for each rule
	pod   *podArguments
	rules []*podRule // nil without rules
	roomy bool       // the pod needs a volume
}

func (m *manifestsTask) run(ctx context.Context, c *console.Console) error {
	ctx, stop := console.UntilReaderGone(ctx, c.Out.File)
	defer stop()
	k, err := m.runs[0].cfg.Connection.Connect(c.Connection()) // makes no request
	isConfigured := !cluster.IsNotConfigured(err)
	switch {
	case !isConfigured:
		k = &cluster.Cluster{Namespace: metav1.NamespaceDefault}
	case err != nil:
		return err
	}
	return run.EndOf(ctx, m.make(ctx, c, k, isConfigured), true)
}

// make prints the manifests. It asks the server only if run.OpenOfflineSession needs that, for example for custom resources.
func (m *manifestsTask) make(ctx context.Context, c *console.Console, k *cluster.Cluster, isConfigured bool) error {
	var sessions []*run.Session
	for _, of := range m.runs {
		s, isOffline := run.OpenOfflineSession(ctx, c, k, of.cfg.Selection)
		switch {
		case isOffline:
			for _, note := range s.Plan.Notes {
				c.Say(note)
			}
		case !isConfigured:
			return fail.Usage(errNeedsCluster)
		default:
			var err error
			if s, err = run.OpenSession(ctx, c, k, of.cfg.Selection); err != nil {
				return err
			}
		}
		sessions = append(sessions, s)
	}
	if err := m.write(sessions[0], m.planned(sessions)); err != nil {
		return err
	}
	m.reportPrerequisites(sessions[0])
	return nil
}

var errNeedsCluster = errors.New("no cluster is configured, and without one dwatch manifests only knows the built-in resources of Kubernetes by their names: " +
	"set KUBECONFIG for custom resources, categories, '*' and --for")

// memory is the memory limit of a run in bytes, with a margin. A page takes twice as much.
const memory = 256 << 20

// ruleMemory is the memory of each further rule without its queue.
const ruleMemory = memory / 4

// graceSeconds is the time to end a pod in addition to --drain. It is the default of Kubernetes.
const graceSeconds = 30

func (m *manifestsTask) planned(all []*run.Session) manifest.Workload {
	s := all[0]
	to := access.ServiceAccountSubject(m.Namespace, m.Name)
	var needs []access.Permission
	for i, of := range m.runs {
		needs = access.AddPermissions(needs, all[i].Permissions(of.need)...)
	}
	if m.lease.IsSet() {
		needs = access.AddPermissions(needs, access.LeasePermissions(cmp.Or(m.lease.Namespace, m.Namespace), m.lease.Name)...)
	}
	workload := manifest.Workload{
		Name: m.Name, Namespace: m.Namespace, Image: m.Image, Args: m.pod.args(s),
		Roles: rolesOf(access.BuildRoles(needs, to)), Ports: []manifest.Port{{Name: "metrics", Number: m.pod.metrics}},
		MountsSecrets: len(m.pod.secrets()) > 0, MemoryLimit: resource.NewQuantity(memory, resource.BinarySI).String(), GraceSeconds: graceSeconds,
	}
	if m.roomy {
		workload.VolumeSize = "1Gi"
	}
	if m.lease.IsSet() {
		workload.Replicas, workload.VolumePerPod = 2, m.VolumePerPod
	} else if n := m.shards(); n > 0 {
		workload.Replicas, workload.VolumePerPod = n, true
	}
	workload.Egress = []manifest.Peer{manifest.DNSPeer(), manifest.APIServerPeer(m.APIServerPorts...)}
	switch first := m.runs[0]; {
	case first.page != nil:
		workload.Ports, workload.MemoryLimit = append(workload.Ports, manifest.Port{Name: "page", Number: manifest.ParsePort(first.page.Address)}), resource.NewQuantity(2*memory, resource.BinarySI).String()
	case first.records():
		workload.VolumeSize = resource.NewQuantity(first.cfg.Recording.Keep.MaxSize/4*5, resource.BinarySI).String() // a segment is added before one is removed
	case first.receiver != nil:
		m.deliver(&workload)
	}
	workload.Rules = rulesFor(m.rules, all)
	workload.Monitoring, workload.CPURequest = m.Monitoring, m.CPU
	workload.MemoryLimit = cmp.Or(m.Memory, workload.MemoryLimit)
	return workload
}

// shards is how many pods share the objects. Zero means that --shard auto is not given.
func (m *manifestsTask) shards() int {
	if shard := m.runs[0].cfg.Selection.Request.Shard; shard.Number == 0 {
		return shard.Count
	}
	return 0
}

// rolesOf returns the roles among objects, without their bindings.
func rolesOf(objects []any) (roles []manifest.Role) {
	for _, o := range objects {
		if r, is := o.(rbacv1.ClusterRole); is {
			roles = append(roles, manifest.Role{Name: r.Name, Namespace: r.Namespace, Rules: r.Rules})
		}
	}
	return roles
}

// deliver sets the memory, the volume, the grace period and the egress that the receivers need.
func (m *manifestsTask) deliver(workload *manifest.Workload) {
	var drain time.Duration
	needed, room := memory+int64(len(m.runs)-1)*ruleMemory, int64(0)
	for _, of := range m.runs {
		to := of.receiver
		drain = max(drain, to.DrainTimeout)
		room += to.MaxBytes
		if of.cfg.StateFile == "" { // the queue is in memory
			needed += max(to.MaxBytes, deliver.DefaultMaxBytes)
		}
		switch {
		case to.URL == nil:
			workload.Egress = nil // a command may connect to any address
		case workload.Egress != nil:
			workload.AllowEgressTo(slices.DeleteFunc(to.Endpoints(), isPod)...)
		}
	}
	workload.GraceSeconds += int(drain / time.Second)
	if m.runs[0].cfg.StateFile == "" {
		needed -= deliver.DefaultMaxBytes
	}
	workload.MemoryLimit = resource.NewQuantity(needed, resource.BinarySI).String()
	if workload.VolumeSize != "" { // a bbolt file does not shrink, and the volume also has the dead letters
		workload.VolumeSize = resource.NewQuantity(2*room, resource.BinarySI).String()
	}
}

func (m *manifestsTask) write(s *run.Session, workload manifest.Workload) error {
	if m.HelmValues {
		values, err := workload.Values()
		if err == nil {
			_, err = s.Console.Out.Write(values.Text)
		}
		return err
	}
	files, err := workload.Files()
	if err != nil {
		return err
	}
	if m.KustomizeDir == "" {
		_, err := s.Console.Out.Write(manifest.JoinFiles(files))
		return err
	}
	there, err := os.ReadDir(m.KustomizeDir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fail.Usage(fmt.Errorf("--kustomize: %w", err))
	}
	if len(there) > 0 {
		return fail.Usage(fmt.Errorf("--kustomize %s: the directory is not empty: give a new one", m.KustomizeDir))
	}
	if err := os.MkdirAll(m.KustomizeDir, 0o777); err != nil {
		return fail.Usage(fmt.Errorf("--kustomize: %w", err))
	}
	for _, f := range append(files, manifest.NewKustomization(files)) {
		if err := os.WriteFile(filepath.Join(m.KustomizeDir, f.Name), f.Text, 0o666); err != nil {
			return fmt.Errorf("--kustomize: %w", err)
		}
	}
	return nil
}

// reportPrerequisites reports what the manifests do not contain.
func (m *manifestsTask) reportPrerequisites(s *run.Session) {
	if files := m.pod.secrets(); len(files) > 0 {
		line := fmt.Sprintf("the pod mounts a Secret, which is not printed; create it: kubectl create secret generic %s -n %s", m.Name, m.Namespace)
		for _, f := range files {
			line += " --from-file=" + quoted(oneOfSeveral(path.Base(f.at)+"="+f.here))
		}
		s.Console.Warn(line)
	}
	switch {
	case m.shards() > 0 && m.roomy:
		s.Console.Say(fmt.Sprintf("there are %s, each with its own shard of the objects and its own volume", text.Count(m.shards(), "pod")))
	case !m.lease.IsSet() || !m.roomy:
	case m.VolumePerPod:
		s.Console.Say("each pod has its own volume: after a failover, the new leader sends the latest states; events and deletions that the other pod has not sent are sent when that pod leads again")
	default:
		s.Console.Say("the pods share a volume, whose storage class must support ReadWriteMany and file locks: after a failover, the new leader delivers the pending events; --volume-per-pod gives each pod its own volume")
	}
	reported := map[string]bool{}
	for _, of := range m.runs {
		to, delivers := of.receiver, of.receiver != nil
		if delivers && to.URL != nil && slices.ContainsFunc(to.Endpoints(), isPod) && !reported["pod"] {
			reported["pod"] = true
			s.Console.Warn("localhost is the pod itself, where only dwatch runs: give an address at which the pod can reach the receiver")
		}
		line := ""
		switch {
		case delivers && to.Command != nil:
			line = fmt.Sprintf("release images contain no program except dwatch: the command %s must be in %s", to.Command[0], m.Image)
		case delivers && speaksTLS(to.URL) && to.TLS.CA == "":
			line = "release images contain no CA certificates: give the receiver's with --to-ca FILE"
		}
		if line != "" && !reported[line] {
			reported[line] = true
			s.Console.Say(line)
		}
	}
}

// oneOfSeveral quotes one value of a kubectl flag that takes a comma-separated list.
func oneOfSeveral(value string) string {
	if strings.ContainsAny(value, `,"`) {
		return `"` + strings.ReplaceAll(value, `"`, `""`) + `"`
	}
	return value
}

// quoted quotes a word for a shell.
func quoted(word string) string {
	if strings.ContainsFunc(word, func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune("-_./=", c)
	}) {
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return word
}

// isPod reports whether an address is local, which in a pod is the pod itself.
func isPod(address *url.URL) bool { return secret.IsLoopback(address.Host) }

func speaksTLS(address *url.URL) bool {
	return strings.HasSuffix(address.Scheme, "s") && address.Scheme != "nats"
}
