package flags

import (
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"dwatch/output"
	"dwatch/watcher/object/change"
)

// Compared says what of the state before goes with an event.
type Compared struct{ Old, Changes, Patch bool }

// AddTo adds the flags to f.
func (c *Compared) AddTo(f *pflag.FlagSet) {
	f.BoolVar(&c.Changes, "changes", false, "Show with each MODIFIED object, as \"changes\", what changed: path, old and new value, and who changed it; keeps all content in memory")
	f.BoolVar(&c.Patch, "patch", false, "Show with each MODIFIED object, as \"patch\", a JSON patch (RFC 6902) from the state before; keeps all content in memory")
	f.BoolVar(&c.Old, "old", false, "Show with each MODIFIED object, as \"old\", the state before; keeps all content in memory")
}

// Noise says which changes count.
type Noise struct {
	only, ignore []string
	all          bool
}

// AddTo adds the flags to f.
func (n *Noise) AddTo(f *pflag.FlagSet) {
	f.StringArrayVar(&n.only, "only", nil, "Of what changes, show only what is at or below `PATH`, e.g. spec, 'spec.containers[*].image' or 'status.conditions[type=Ready]' (repeatable)")
	f.StringArrayVar(&n.ignore, "ignore", nil, "Of what changes, count what is at or below `PATH` as noise (repeatable)")
	f.BoolVar(&n.all, "noise", false, "Of what changes, show noise, too: resourceVersion, managedFields, heartbeats and their like")
}

// Parse sets what is compared.
func (n *Noise) Parse(compare *change.Options) (err error) {
	if !n.all {
		compare.Noise = change.DefaultNoise()
	}
	ignore, err := parsePatterns("ignore", n.ignore)
	if err != nil {
		return err
	}
	compare.Noise.Paths = append(compare.Noise.Paths, ignore...)
	compare.Only, err = parsePatterns("only", n.only)
	return err
}

// Given returns the first of these flags that is given; empty if none is.
func (*Noise) Given(f *pflag.FlagSet) string { return given(f, "only", "ignore", "noise") }

// Masks say which values are shown as size and hash.
type Masks struct {
	paths       []string
	secrets     bool
	ShowSecrets bool
}

// AddTo adds the flags to f that go for everything that shows values.
func (m *Masks) AddTo(f *pflag.FlagSet) {
	f.StringArrayVar(&m.paths, "mask", nil, "Show the values at or below `PATH` as size and hash, in all formats (repeatable)")
}

// AddMaskSecretsTo adds the flag for where Secrets are shown unless it is given.
func (m *Masks) AddMaskSecretsTo(f *pflag.FlagSet) {
	f.BoolVar(&m.secrets, "mask-secrets", false, "Show the values of Secrets as size and hash in json, yaml and kyaml, too, as they are in what changes")
}

// AddShowSecretsTo adds the flag for where Secrets are masked unless it is given.
func (m *Masks) AddShowSecretsTo(f *pflag.FlagSet, where string) {
	f.BoolVar(&m.ShowSecrets, "show-secrets", false, "Show the values of Secrets"+where)
}

// Parse sets what is masked: in what changes, and in objects, where secrets says whether
// the values of Secrets are if no flag says so.
func (m *Masks) Parse(p *output.Options, secrets bool) error {
	if m.ShowSecrets && m.secrets {
		return errors.New("--show-secrets and --mask-secrets contradict each other")
	}
	paths, err := parsePatterns("mask", m.paths)
	if err != nil {
		return err
	}
	key := make([]byte, 32)
	_, err = rand.Read(key)
	p.Compare.Masks = &change.Masks{Paths: paths, Secrets: !m.ShowSecrets, Key: key}
	p.Masks = &change.Masks{Paths: paths, Secrets: m.secrets || secrets && !m.ShowSecrets, Key: key}
	return err
}

func parsePatterns(flag string, texts []string) (patterns change.Patterns, err error) {
	for _, text := range texts {
		p, err := change.ParsePattern(text)
		if err != nil {
			return nil, fmt.Errorf("invalid --%s %q: %w", flag, text, err)
		}
		patterns = append(patterns, p)
	}
	return patterns, nil
}
