package cli

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/pflag"

	"dwatch/cli/flags"
	"dwatch/cli/manifest"
	"dwatch/cli/run"
	"dwatch/output/deliver/secret"
	"dwatch/watcher/event"
)

// podArguments is the command line of a pod. It is the typed one without the flags of the connection, and with the paths of files in
// the pod.
type podArguments struct {
	command string // empty for the stream
	named   []string
	given   []string // the flags
	behind  []string // the arguments after "--", or nil
	files   []mounted
	writes  bool // dwatch writes a file, so the pod needs a volume
	metrics int  // the port of --listen
	toChat  bool // chat messages name the cluster, and no flag gives its name
	placed  bool // flags name the namespaces
}

// mounted is a file with its path in the pod and its local path.
type mounted struct{ at, here string }

// writtenFiles are flags whose files dwatch writes.
var writtenFiles = []string{"state", "dead-letters"}

func (m *manifestsOptions) pod(all []podRun) (*podArguments, error) {
	if all[0].cfg.Connection.HasMultipleContexts() {
		return nil, errors.New("a pod watches the cluster that it runs in: run dwatch manifests once for each cluster, with its --context")
	}
	p := &podArguments{metrics: manifest.MetricsPort, placed: all[0].cfg.Selection.NamesNamespaces()}
	shared := m.shared()
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.AddFlagSet(shared.all)
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	new(flags.Manifests).AddTo(own)
	err := f.ParseAll(m.typed, func(flag *pflag.Flag, value string) error {
		here := shared.server.Lookup(flag.Name) != nil && flag.Name != "request-timeout"
		if here || own.Lookup(flag.Name) != nil {
			return nil
		}
		return p.add(flag, value)
	})
	if err != nil {
		return nil, err
	}
	p.named = f.Args()
	if at := f.ArgsLenAtDash(); at >= 0 {
		p.named, p.behind = p.named[:at], p.named[at:]
	}
	for _, arg := range slices.Concat(p.named, p.behind) {
		if err := checkYAML("an argument", arg); err != nil {
			return nil, err
		}
	}
	p.named = p.named[1:] // the word manifests
	if _, isStream := m.options.(*streamOptions); !isStream {
		p.command, p.named = p.named[0], p.named[1:]
	}
	if all[0].records() {
		p.writes = true
		dir, err := p.mount(manifest.StateDir, "the directory", p.named[0])
		if err != nil {
			return nil, err
		}
		p.named = slices.Concat([]string{dir}, p.named[1:])
	}
	for i := range all {
		if err := p.check(&all[i]); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (p *podArguments) add(flag *pflag.Flag, value string) error {
	if err := checkYAML("--"+flag.Name, value); err != nil {
		return err
	}
	if flag.Name == "listen" {
		if p.metrics = manifest.ParsePort(value); p.metrics < 1 || p.metrics > 65535 {
			return fmt.Errorf("--listen %s: the probes of Kubernetes need a fixed port that they can reach: use --listen :%d", value, manifest.MetricsPort)
		}
	}
	if format, _, _ := strings.Cut(value, "="); flag.Name == "output" && strings.HasSuffix(format, "file") {
		return fmt.Errorf("-o %s reads a file that the pod does not have: give its content instead, with -o go-template=TEMPLATE", format)
	}
	switch {
	case flag.Name == "filename":
		value = manifest.RulesFile
	case flags.IsFileValue(flag, value):
		var err error
		if value, err = p.move(flag.Name, value); err != nil {
			return err
		}
	}
	if value == "true" && flag.Value.Type() == "bool" {
		p.given = append(p.given, "--"+flag.Name)
		return nil
	}
	p.given = append(p.given, "--"+flag.Name+"="+value)
	return nil
}

// checkYAML returns an error for text that YAML does not preserve: it folds or refuses some characters, and can't contain bytes.
func checkYAML(what, text string) error {
	for _, c := range text {
		switch {
		case c == utf8.RuneError && !utf8.ValidString(text):
			return fmt.Errorf("%s is not UTF-8, which Kubernetes requires", what)
		case c >= 0x7f && c <= 0x9f, c == 0xfffe, c == 0xffff:
			return fmt.Errorf("%s contains the character %U, which YAML does not preserve: in an expression, write \\u%04x", what, c, c)
		}
	}
	return nil
}

// move mounts the file of a flag, and returns its path in the pod.
func (p *podArguments) move(flag, file string) (string, error) {
	dir := manifest.SecretDir
	if slices.Contains(writtenFiles, flag) {
		p.writes, dir = true, manifest.StateDir
	}
	return p.mount(dir, "--"+flag, file)
}

// mount mounts a file in a directory of the pod, and returns its path there.
func (p *podArguments) mount(dir, what, file string) (string, error) {
	at, named := manifest.MountPath(dir, file)
	if !named {
		return "", fmt.Errorf("%s %s: for a pod, it must be the name of a file", what, file)
	}
	if dir == manifest.SecretDir && strings.Contains(file, "=") {
		return "", fmt.Errorf("%s %s: kubectl can't create a Secret from a path that contains =: rename the file", what, file)
	}
	f := mounted{at, file}
	for _, other := range p.files {
		if other.at == f.at && (other != f || dir == manifest.StateDir) {
			return "", fmt.Errorf("%s %s: another file has the same name, and both would have the same path in the pod: rename one", what, file)
		}
	}
	if !slices.Contains(p.files, f) {
		p.files = append(p.files, f)
	}
	return at, nil
}

// check returns an error for values that do not work in a pod.
func (p *podArguments) check(r *podRun) error {
	switch {
	case r.page != nil:
		if port := manifest.ParsePort(r.page.Address); port == 0 || secret.IsLoopback(r.page.Address) {
			return errors.New("other machines must be able to reach the page of a pod: use --addr :8080 with --serve-insecure behind a proxy, or with --tls-cert and --tls-key")
		} else if port == p.metrics {
			return fmt.Errorf("--addr %s and --listen use the same port: choose another", r.page.Address)
		} else if !manifest.IsUnspecifiedAddress(r.page.Address) {
			return fmt.Errorf("--addr %s: a pod gets its IP address only when it starts: use --addr :%d", r.page.Address, port)
		}
	case r.records():
		if r.cfg.Recording.Keep.MaxSize == 0 {
			return errors.New("the volume of a pod has a limited size: limit the recording with --max-size, such as 10Gi")
		}
	case r.receiver != nil:
		p.toChat = r.receiver.Chat != nil && r.receiver.Chat.Cluster == ""
		if secret := r.receiver.UsedCredentialVariable(); secret != "" {
			return fmt.Errorf("manifests do not contain the value of %s: put it into a file, and use the flag for that file", secret)
		}
	}
	switch listen := r.cfg.Listen; {
	case secret.IsLoopback(listen):
		return fmt.Errorf("--listen %s can't be reached by the probes of Kubernetes: use --listen :%d", listen, p.metrics)
	case listen != "" && !manifest.IsUnspecifiedAddress(listen):
		return fmt.Errorf("--listen %s: a pod gets its IP address only when it starts: use --listen :%d", listen, p.metrics)
	}
	return nil
}

// args returns the arguments of the container.
func (p *podArguments) args(s *run.Session) []string {
	var args []string
	if p.command != "" {
		args = append(args, p.command)
	}
	args = append(args, p.named...)
	if namespaced := slices.ContainsFunc(s.Plan.Targets, event.Target.Namespaced); namespaced && !p.placed {
		// Without the flag, dwatch would watch the namespace of the pod.
		args = append(args, "--namespace="+s.Cluster.Namespace)
	}
	args = append(args, p.given...)
	if p.toChat && s.Cluster.Context != "" { // within a pod, all clusters have the same address
		args = append(args, "--cluster-name="+s.Cluster.Context)
	}
	if !slices.ContainsFunc(p.given, func(arg string) bool { return strings.HasPrefix(arg, "--listen=") }) {
		args = append(args, fmt.Sprintf("--listen=:%d", p.metrics))
	}
	if p.behind != nil {
		args = append(append(args, "--"), p.behind...)
	}
	return args
}

// secrets returns the files that the Secret contains.
func (p *podArguments) secrets() (files []mounted) {
	for _, f := range p.files {
		if path.Dir(f.at) == manifest.SecretDir {
			files = append(files, f)
		}
	}
	return files
}
