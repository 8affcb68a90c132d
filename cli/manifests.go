package cli

import (
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
	"k8s.io/apimachinery/pkg/api/resource"

	"dwatch/cli/access"
	"dwatch/cli/cluster"
	"dwatch/cli/fail"
	"dwatch/cli/flags"
	"dwatch/cli/manifest"
	"dwatch/output/deliver"
)

// manifestsFlags are the flags of dwatch manifests: those of the command that is to run in a
// cluster, and what that is made of.
type manifestsFlags struct {
	command
	typed []string // the whole command line
	made  flags.Manifests
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
	return append([]flags.Group{flags.NewGroup("What is made", m.made.AddTo)}, groups...)
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
	{[]string{"filename", "check"}, "reads rules, which are put into no ConfigMap yet (docs/rules.md)"},
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
	if err := m.made.Parse(); err != nil {
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
	watches, ok := of.(interface{ itself() *watching })
	if !ok {
		return nil, errors.New("this watches no cluster: dwatch manifests is for what goes on in one")
	}
	w := watches.itself()
	if w.anywhere = true; w.connection.IsSeveral() {
		return nil, errors.New("a pod watches the cluster that it runs in: dwatch manifests takes the --context of that one, once for each cluster")
	}
	pod, err := m.pod(w)
	if err != nil {
		return nil, err
	}
	return &manifests{Manifests: m.made, of: w, pod: pod, roomy: w.stateFile != "" || pod.writes}, nil
}

// manifests prints what runs a command line in a cluster.
type manifests struct {
	flags.Manifests
	of    *watching
	pod   *podArguments
	roomy bool // it keeps something
}

func (m *manifests) run(ctx context.Context, c *console) error {
	ctx, stop := untilReaderGone(ctx, c.out.file)
	defer stop()
	return c.at(ctx, m.of.connection, 0, true, func(ctx context.Context, k *cluster.Cluster) error {
		s, err := c.open(ctx, k, m.of.selection)
		if err != nil {
			return err
		}
		run, err := m.planned(ctx, s)
		if err != nil {
			return err
		}
		files, err := run.Files()
		if err != nil {
			return err
		}
		if err := m.write(s, files); err != nil {
			return err
		}
		m.sayWhatIsMissing(s)
		return nil
	})
}

// memory is what a run takes at most, in bytes, with a margin; a page has all content.
const memory = 256 << 20

// graceBeside is how long it takes to end beside --drain, in seconds: as long as Kubernetes gives a pod.
const graceBeside = 30

func (m *manifests) planned(ctx context.Context, s *session) (manifest.Run, error) {
	to := access.ServiceAccount(m.Namespace, m.Name)
	run := manifest.Run{
		Name: m.Name, Namespace: m.Namespace, Image: m.Image, Args: m.pod.args(s),
		Roles: access.Roles(s.needs(m.of.wanted()), to), Ports: []manifest.Port{{Name: "metrics", Number: m.pod.metrics}},
		Secrets: len(m.pod.secrets()) > 0, Memory: resource.NewQuantity(memory, resource.BinarySI).String(), Grace: graceBeside,
	}
	if m.roomy {
		run.Room = "1Gi"
	}
	peers := []manifest.Peer{manifest.DNS(), manifest.Server(m.ports(ctx, s)...)}
	switch to := m.of.to.(type) {
	case *served:
		run.Ports, run.Memory = append(run.Ports, manifest.Port{Name: "page", Number: manifest.PortIn(to.Address)}), resource.NewQuantity(2*memory, resource.BinarySI).String()
	case *recorded:
		run.Room = resource.NewQuantity(to.keep.Size/4*5, resource.BinarySI).String() // a segment comes before one goes
	case *delivery:
		run.Delivers = true
		run.Grace += int(to.Drain / time.Second)
		if m.of.stateFile == "" { // what waits is in memory
			run.Memory = resource.NewQuantity(memory-deliver.DefaultRoom+max(to.Room, deliver.DefaultRoom), resource.BinarySI).String()
		}
		if run.Room != "" { // bbolt's file does not shrink, and dead letters come beside it
			run.Room = resource.NewQuantity(2*to.Room, resource.BinarySI).String()
		}
		if to.URL == nil {
			peers = nil // nobody knows whom a command talks to
			break
		}
		peers = append(peers, manifest.Receivers(to.URL, m.Namespace)...)
	}
	run.Egress = peers
	var err error
	if run.Monitored, err = s.serves(ctx, "podmonitors.monitoring.coreos.com"); err == nil {
		run.Alerted, err = s.serves(ctx, "prometheusrules.monitoring.coreos.com")
	}
	return run, err
}

// ports are where API servers listen: behind the Service, whose port is that of HTTPS.
func (m *manifests) ports(ctx context.Context, s *session) []int {
	const https = 443
	ports, err := s.ServerPorts(ctx)
	if err != nil || len(ports) == 0 {
		ports = []int{6443} // that of kubeadm, and of most
	}
	if !slices.Contains(ports, https) {
		ports = append([]int{https}, ports...)
	}
	return ports
}

func (m *manifests) write(s *session, files []manifest.File) error {
	if m.Directory == "" {
		_, err := s.out.Write(manifest.Join(files))
		return err
	}
	there, err := os.ReadDir(m.Directory)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fail.Usage(fmt.Errorf("--kustomize: %w", err))
	}
	if len(there) > 0 {
		return fail.Usage(fmt.Errorf("--kustomize %s: the directory is not empty: name one that is not there", m.Directory))
	}
	if err := os.MkdirAll(m.Directory, 0o777); err != nil {
		return fail.Usage(fmt.Errorf("--kustomize: %w", err))
	}
	for _, f := range append(files, manifest.Kustomization(files)) {
		if err := os.WriteFile(filepath.Join(m.Directory, f.Name), f.Text, 0o666); err != nil {
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
			line += " --from-file=" + quoted(path.Base(f.at)+"="+f.here)
		}
		s.warn(line)
	}
	to, delivers := m.of.to.(*delivery)
	switch {
	case delivers && to.Command != nil:
		s.say(fmt.Sprintf("the image of a release has no programs but dwatch: %s has to be in %s", to.Command[0], m.Image))
	case delivers && speaksTLS(to.URL) && to.TLS.CA == "":
		s.say("the image of a release has no certificates of authorities: give those of the receiver's with --to-ca FILE")
	}
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

func speaksTLS(address *url.URL) bool {
	return strings.HasSuffix(address.Scheme, "s") && address.Scheme != "nats"
}
