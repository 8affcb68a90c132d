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

	"dwatch/cli/access"
	"dwatch/cli/cluster"
	"dwatch/cli/fail"
	"dwatch/cli/flags"
	"dwatch/cli/manifest"
	"dwatch/output/deliver"
	"dwatch/output/deliver/secret"
)

// manifestsFlags are the flags of dwatch manifests: those of the command that is to run in a
// cluster, and what that is made of.
type manifestsFlags struct {
	command
	typed   []string // the whole command line
	options flags.Manifests
	lease   flags.Lease
}

func newManifestsFlags(of command, typed []string) command {
	return &manifestsFlags{command: of, typed: typed}
}

func (m *manifestsFlags) groups() []flags.Group {
	groups := m.command.groups()
	for _, g := range groups {
		beside := g.Flags.Lookup("record") != nil // what else is about that recording
		g.Flags.VisitAll(func(f *pflag.Flag) { f.Hidden = f.Hidden || beside || whyNotInPod(f.Name) != "" })
	}
	return append([]flags.Group{flags.NewGroup("What is made", m.options.AddTo)}, groups...)
}

// notInPod are flags that a pod has no use for, and why. Help does not show them.
var notInPod = []struct {
	names []string
	why   string
}{
	{[]string{"until", "fail-if", "count", "timeout", "before"}, "ends the run, and a pod would be started again and again"},
	{[]string{"since"}, "is of the past, which would come again with each start"},
	{[]string{"redeliver"}, "sends a file, and ends"},
	{[]string{"wait"}, "waits for resources, and the roles have to name them"},
	{[]string{"check"}, "says what is wrong with rules, and ends"},
	{[]string{"from", "from-token-file", "from-ca"}, "asks a recording, which the pod does not have"},
	{[]string{"record"}, "is for a directory, and dwatch manifests record makes a pod that has one"},
	{[]string{"open"}, "opens a browser"},
	{[]string{"as", "as-group", "as-uid", "as-user-extra"}, "is somebody else, and the pod is its service account"},
}

// whyNotInPod is why a pod has no use for a flag; empty if it has.
func whyNotInPod(name string) string {
	for _, no := range notInPod {
		if slices.Contains(no.names, name) {
			return no.why
		}
	}
	return ""
}

func (m *manifestsFlags) parse(args []string, _ terminal) (runner, error) {
	if err := m.options.Parse(); err != nil {
		return nil, err
	}
	var refused error
	m.shared().all.Visit(func(f *pflag.Flag) {
		if why := whyNotInPod(f.Name); why != "" && refused == nil {
			refused = fmt.Errorf("--%s %s: it does not go with dwatch manifests", f.Name, why)
		}
	})
	if refused != nil {
		return nil, refused
	}
	of, err := m.command.parse(args, terminal{})
	if err != nil {
		return nil, err
	}
	led, isLed := of.(*leased)
	if m.options.VolumePerPod && (!isLed || !led.keeps) {
		return nil, errors.New("--volume-per-pod is for several pods that keep something: it needs --lease, and --state")
	}
	if isLed {
		m.lease, of = led.lease, led.of
	}
	if set, is := of.(*ruleset); is {
		return m.ofRules(set)
	}
	watches, ok := of.(interface{ itself() *watching })
	if !ok {
		return nil, errors.New("this watches no cluster: dwatch manifests is for what goes on in one")
	}
	all := []*watching{watches.itself()}
	pod, err := m.pod(all)
	if err != nil {
		return nil, err
	}
	return m.made(all, pod, nil), nil
}

func (m *manifestsFlags) made(of []*watching, pod *podArguments, rules []*podRule) *manifests {
	for _, w := range of {
		w.anywhere = true
	}
	return &manifests{Manifests: m.options, lease: m.lease, of: of, pod: pod, rules: rules, roomy: of[0].stateFile != "" || pod.writes}
}

// manifests prints what runs a command line in a cluster.
type manifests struct {
	flags.Manifests
	lease flags.Lease
	of    []*watching // one, or each of the rules
	pod   *podArguments
	rules []*podRule // nil: there are none
	roomy bool       // it keeps something
}

func (m *manifests) run(ctx context.Context, c *console) error {
	ctx, stop := untilReaderGone(ctx, c.out.file)
	defer stop()
	return c.at(ctx, m.of[0].connection, 0, true, func(ctx context.Context, k *cluster.Cluster) error {
		var sessions []*session
		for _, of := range m.of {
			s, err := c.open(ctx, k, of.selection)
			if err != nil {
				return err
			}
			sessions = append(sessions, s)
		}
		run, err := m.planned(ctx, sessions)
		if err != nil {
			return err
		}
		if err := m.write(sessions[0], run); err != nil {
			return err
		}
		m.sayWhatIsMissing(sessions[0])
		return nil
	})
}

// memory is what a run takes at most, in bytes, with a margin; a page has all content.
const memory = 256 << 20

// ruleMemory is what each further rule takes, beside its queue: what it was told, what waits for it, what it compares.
const ruleMemory = memory / 4

// graceBeside is how long it takes to end beside --drain, in seconds: as long as Kubernetes gives a pod.
const graceBeside = 30

func (m *manifests) planned(ctx context.Context, all []*session) (manifest.Workload, error) {
	s := all[0]
	to := access.ServiceAccountSubject(m.Namespace, m.Name)
	var needs []access.Permission
	for i, of := range m.of {
		needs = access.AddPermissions(needs, all[i].needs(of.wanted())...)
	}
	if m.lease.IsSet() {
		needs = access.AddPermissions(needs, access.LeasePermissions(cmp.Or(m.lease.Namespace, m.Namespace), m.lease.Name)...)
	}
	run := manifest.Workload{
		Name: m.Name, Namespace: m.Namespace, Image: m.Image, Args: m.pod.args(s),
		Roles: rolesOf(access.BuildRoles(needs, to)), Ports: []manifest.Port{{Name: "metrics", Number: m.pod.metrics}},
		MountsSecrets: len(m.pod.secrets()) > 0, MemoryLimit: resource.NewQuantity(memory, resource.BinarySI).String(), GraceSeconds: graceBeside,
	}
	if m.roomy {
		run.VolumeSize = "1Gi"
	}
	if m.lease.IsSet() {
		run.Replicas, run.VolumePerPod = 2, m.VolumePerPod
	} else if n := m.shards(); n > 0 {
		run.Replicas, run.VolumePerPod = n, true
	}
	run.Egress = []manifest.Peer{manifest.DNSPeer(), manifest.APIServerPeer(m.ports(ctx, s)...)}
	switch to := m.of[0].to.(type) {
	case *served:
		run.Ports, run.MemoryLimit = append(run.Ports, manifest.Port{Name: "page", Number: manifest.ParsePort(to.Address)}), resource.NewQuantity(2*memory, resource.BinarySI).String()
	case *recorded:
		run.VolumeSize = resource.NewQuantity(to.keep.MaxSize/4*5, resource.BinarySI).String() // a segment comes before one goes
	case *delivery:
		m.deliver(&run)
	}
	run.Rules = rulesFor(m.rules, all)
	for kind, resource := range map[string]string{
		manifest.PodMonitor: "podmonitors.monitoring.coreos.com", manifest.PrometheusRule: "prometheusrules.monitoring.coreos.com",
	} {
		there, err := s.serves(ctx, resource)
		if err != nil {
			return run, err
		}
		if there {
			run.ServedKinds = append(run.ServedKinds, kind)
		}
	}
	return run, nil
}

// shards is how many pods share the objects; 0 if one has all that it is to have.
func (m *manifests) shards() int {
	if shard := m.of[0].request.Shard; shard.Number == 0 {
		return shard.Count
	}
	return 0
}

// rolesOf are the roles among objects, beside which are their bindings.
func rolesOf(objects []any) (roles []manifest.Role) {
	for _, o := range objects {
		if r, is := o.(rbacv1.ClusterRole); is {
			roles = append(roles, manifest.Role{Name: r.Name, Namespace: r.Namespace, Rules: r.Rules})
		}
	}
	return roles
}

// deliver says what it takes to deliver, to the receivers of all that run.
func (m *manifests) deliver(run *manifest.Workload) {
	var drain time.Duration
	needed, room := memory+int64(len(m.of)-1)*ruleMemory, int64(0)
	for _, of := range m.of {
		to := of.to.(*delivery)
		drain = max(drain, to.DrainTimeout)
		room += to.MaxBytes
		if of.stateFile == "" { // what waits is in memory
			needed += max(to.MaxBytes, deliver.DefaultMaxBytes)
		}
		switch {
		case to.URL == nil:
			run.Egress = nil // nobody knows whom a command talks to
		case run.Egress != nil:
			run.AllowEgressTo(slices.DeleteFunc(to.Endpoints(), isPod)...)
		}
	}
	run.GraceSeconds += int(drain / time.Second)
	if m.of[0].stateFile == "" {
		needed -= deliver.DefaultMaxBytes
	}
	run.MemoryLimit = resource.NewQuantity(needed, resource.BinarySI).String()
	if run.VolumeSize != "" { // bbolt's file does not shrink, and dead letters come beside it
		run.VolumeSize = resource.NewQuantity(2*room, resource.BinarySI).String()
	}
}

// ports are where API servers listen: behind the Service, whose port is that of HTTPS.
func (m *manifests) ports(ctx context.Context, s *session) []int {
	const https = 443
	ports, err := s.APIServerPorts(ctx)
	if err != nil || len(ports) == 0 {
		ports = []int{6443} // that of kubeadm, and of most
	}
	if !slices.Contains(ports, https) {
		ports = append([]int{https}, ports...)
	}
	return ports
}

func (m *manifests) write(s *session, run manifest.Workload) error {
	if m.HelmValues {
		values, err := run.Values()
		if err == nil {
			_, err = s.out.Write(values.Text)
		}
		return err
	}
	files, err := run.Files()
	if err != nil {
		return err
	}
	if m.KustomizeDir == "" {
		_, err := s.out.Write(manifest.JoinFiles(files))
		return err
	}
	there, err := os.ReadDir(m.KustomizeDir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fail.Usage(fmt.Errorf("--kustomize: %w", err))
	}
	if len(there) > 0 {
		return fail.Usage(fmt.Errorf("--kustomize %s: the directory is not empty: name one that is not there", m.KustomizeDir))
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

// sayWhatIsMissing says what has to be there beside the manifests.
func (m *manifests) sayWhatIsMissing(s *session) {
	if files := m.pod.secrets(); len(files) > 0 {
		line := fmt.Sprintf("the pod mounts a Secret, which is not printed: kubectl create secret generic %s -n %s", m.Name, m.Namespace)
		for _, f := range files {
			line += " --from-file=" + quoted(oneOfSeveral(path.Base(f.at)+"="+f.here))
		}
		s.warn(line)
	}
	switch {
	case m.shards() > 0 && m.roomy:
		s.say(fmt.Sprintf("each of %s has its share of the objects, and a volume of its own", plural(m.shards(), "pod")))
	case !m.lease.IsSet() || !m.roomy:
	case m.VolumePerPod:
		s.say("each pod has a volume of its own: who takes over tells the last states, and what waits in the other's is delivered when that one leads again")
	default:
		s.say("the pods share a volume, of a storage class that mounts it for several (ReadWriteMany) and has locks: who takes over goes on with what waits; --volume-per-pod takes one for each")
	}
	said := map[string]bool{}
	for _, of := range m.of {
		to, delivers := of.to.(*delivery)
		if delivers && to.URL != nil && slices.ContainsFunc(to.Endpoints(), isPod) && !said["pod"] {
			said["pod"] = true
			s.warn("a receiver on localhost is in the pod itself, where nothing runs but dwatch: name it as it is reached from there")
		}
		line := ""
		switch {
		case delivers && to.Command != nil:
			line = fmt.Sprintf("the image of a release has no programs but dwatch: %s has to be in %s", to.Command[0], m.Image)
		case delivers && speaksTLS(to.URL) && to.TLS.CA == "":
			line = "the image of a release has no certificates of authorities: give those of the receiver's with --to-ca FILE"
		}
		if line != "" && !said[line] {
			said[line] = true
			s.say(line)
		}
	}
}

// oneOfSeveral is a value of a flag of kubectl that takes several, with commas between.
func oneOfSeveral(value string) string {
	if strings.ContainsAny(value, `,"`) {
		return `"` + strings.ReplaceAll(value, `"`, `""`) + `"`
	}
	return value
}

// quoted is a word as a shell reads it.
func quoted(word string) string {
	if strings.ContainsFunc(word, func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune("-_./=", c)
	}) {
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return word
}

// isPod reports whether an address is of the machine that asks.
func isPod(address *url.URL) bool { return secret.IsLoopback(address.Host) }

func speaksTLS(address *url.URL) bool {
	return strings.HasSuffix(address.Scheme, "s") && address.Scheme != "nats"
}
