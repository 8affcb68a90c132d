package flags

import (
	"crypto/rand"
	"errors"

	"github.com/spf13/pflag"

	"dwatch/output"
	"dwatch/watcher/object/change"
)

// PreviousState adds the flags that add the previous state of an object to its MODIFIED events.
func PreviousState(p *output.Options) Adder {
	return func(f *pflag.FlagSet) {
		f.BoolVar(&p.Changes, "changes", false, "Add \"changes\" to each MODIFIED event: path, old and new value, and who made the change; keeps all content in memory")
		f.BoolVar(&p.Patch, "patch", false, "Add \"patch\" to each MODIFIED event: a JSON patch (RFC 6902) from the previous state; keeps all content in memory")
		f.BoolVar(&p.Old, "old", false, "Add \"old\" to each MODIFIED event: the previous state of the object; keeps all content in memory")
	}
}

// ExitCode adds --exit-code.
func ExitCode(to *bool) Adder {
	return func(f *pflag.FlagSet) {
		f.BoolVar(to, "exit-code", false, "Exit with code 1 if something differs, 0 if nothing does, and 2 or more if the comparison failed")
		describeBriefly(f, "exit-code", "Exit with code 1 if something differs")
	}
}

// paths adds a repeatable flag that appends a path pattern to *to.
func paths(f *pflag.FlagSet, to *change.Patterns, name, usage string) {
	f.StringArray(name, nil, usage)
	offers(f, name, "data", "metadata.annotations", "metadata.labels", "metadata.ownerReferences", "spec", "spec.replicas", "spec.template", "status", "status.conditions")
	takes(f, name, func(text string) error {
		p, err := change.ParsePattern(text)
		*to = append(*to, p)
		return invalid(name, text, err)
	})
}

// Noise holds the flags that select which changes of an object count.
type Noise struct {
	only, ignore change.Patterns
	all          bool
}

func (n *Noise) AddTo(f *pflag.FlagSet) {
	paths(f, &n.only, "only", "Show only changes at or below `PATH`, e.g. spec, 'spec.containers[*].image' or 'status.conditions[type=Ready]' (repeatable)")
	describeBriefly(f, "only", "Show only changes at or below `PATH`, e.g. spec")
	paths(f, &n.ignore, "ignore", "Treat changes at or below `PATH` as noise (repeatable)")
	f.BoolVar(&n.all, "noise", false, "Show noise, too, such as changes of resourceVersion, managedFields and heartbeats")
}

func (n *Noise) Apply(compare *change.Options) {
	if !n.all {
		compare.Noise = change.DefaultNoise()
	}
	compare.Noise.Paths = append(compare.Noise.Paths, n.ignore...)
	compare.Only = n.only
}

// ApplyAcrossClusters also prepares compare for objects of two clusters: fields that each server sets are noise,
// unless --noise is given.
func (n *Noise) ApplyAcrossClusters(compare *change.Options) {
	if compare.DistinctObjects = true; !n.all {
		compare.Noise.Paths = append(compare.Noise.Paths, change.ServerSetFields()...)
	}
}

// IgnoredPaths returns the paths of --ignore.
func (n *Noise) IgnoredPaths() change.Patterns { return n.ignore }

// ChangedFlag returns the first of the flags of Noise that is given in f, or "".
func (*Noise) ChangedFlag(f *pflag.FlagSet) string { return given(f, "only", "ignore", "noise") }

// Masks holds the flags that replace values by their size and hash.
type Masks struct {
	paths       change.Patterns
	secrets     bool
	ShowSecrets bool
}

// AddTo adds --mask.
func (m *Masks) AddTo(f *pflag.FlagSet) {
	paths(f, &m.paths, "mask", "Show the values at or below `PATH` as size and hash (repeatable)")
}

// AddMaskSecretsTo adds --mask-secrets, for commands that show the values of Secrets by default.
func (m *Masks) AddMaskSecretsTo(f *pflag.FlagSet) {
	f.BoolVar(&m.secrets, "mask-secrets", false, "Show the values of Secrets as size and hash in whole objects, too, as in -o json")
}

// AddShowSecrets returns an Adder for --show-secrets, for commands that mask the values of Secrets by default.
// where is appended to its help text.
func (m *Masks) AddShowSecrets(where string) Adder {
	return func(f *pflag.FlagSet) {
		f.BoolVar(&m.ShowSecrets, "show-secrets", false, "Show the values of Secrets"+where)
	}
}

// Parse sets the masks of p for changes and for whole objects. Values of Secrets are always masked in changes
// unless --show-secrets is given. secrets is the default for whole objects.
func (m *Masks) Parse(p *output.Options, secrets bool) error {
	if m.ShowSecrets && m.secrets {
		return errors.New("--show-secrets and --mask-secrets contradict each other")
	}
	key := make([]byte, 32)
	rand.Read(key) // never fails
	p.Compare.Masks = &change.Masks{Paths: m.paths, Secrets: !m.ShowSecrets, Key: key}
	p.Masks = &change.Masks{Paths: m.paths, Secrets: m.secrets || secrets && !m.ShowSecrets, Key: key}
	return nil
}
