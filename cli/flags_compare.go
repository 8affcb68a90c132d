package cli

import (
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"dwatch/watcher/object/change"
)

// compareFlags say what is shown of how an object was before, and what is masked.
type compareFlags struct {
	old, changes, patch             bool
	only, ignore, mask              []string
	noise, showSecrets, maskSecrets bool
}

func (o *options) addCompareFlags(f *pflag.FlagSet) {
	c := &o.compareFlags
	f.BoolVar(&c.changes, "changes", false, "Show with each MODIFIED object, as \"changes\", what changed: path, old and new value, and who changed it; keeps all content in memory")
	f.BoolVar(&c.patch, "patch", false, "Show with each MODIFIED object, as \"patch\", a JSON patch (RFC 6902) from the state before; keeps all content in memory")
	f.BoolVar(&c.old, "old", false, "Show with each MODIFIED object, as \"old\", the state before; keeps all content in memory")
	f.StringArrayVar(&c.only, "only", nil, "Of what changes, show only what is at or below `PATH`, e.g. spec, 'spec.containers[*].image' or 'status.conditions[type=Ready]' (repeatable)")
	f.StringArrayVar(&c.ignore, "ignore", nil, "Of what changes, count what is at or below `PATH` as noise (repeatable)")
	f.BoolVar(&c.noise, "noise", false, "Of what changes, show noise, too: resourceVersion, managedFields, heartbeats and their like")
	f.StringArrayVar(&c.mask, "mask", nil, "Show the values at or below `PATH` as size and hash, in all formats (repeatable)")
	f.BoolVar(&c.maskSecrets, "mask-secrets", false, "Show the values of Secrets as size and hash in json, yaml and kyaml, too, as they are in what changes")
	f.BoolVar(&c.showSecrets, "show-secrets", false, "Show the values of Secrets in what changes, on the page, and to a receiver")
}

// checkCompare finds flags that have no effect, or contradict each other.
func (o *options) checkCompare() error {
	compares := o.output == changesFormat || o.changes || o.live || o.given("serve")
	for _, name := range []string{"only", "ignore", "noise"} {
		if o.given(name) && !compares {
			return fmt.Errorf("--%s is for what changes: it needs -o changes, --changes or --serve", name)
		}
	}
	switch {
	case o.given("show-secrets") && !compares && !o.patch && !o.hasReceiver():
		return errors.New("--show-secrets is for what changes: it needs -o changes, --changes, --patch, --serve or a receiver (-o json and yaml on stdout show them as they are)")
	case o.showSecrets && o.maskSecrets:
		return errors.New("--show-secrets and --mask-secrets contradict each other")
	case o.output != "name" && o.output != noFormat:
		return nil
	case o.given("serve") && !o.old && !o.changes && !o.patch:
		return nil // the page masks
	}
	for _, name := range []string{"old", "changes", "patch", "mask", "mask-secrets"} {
		if o.given(name) {
			return fmt.Errorf("-o %s prints no values: it does not go with --%s", o.output, name)
		}
	}
	return nil
}

// comparing says what is compared, and what is masked in objects and in what changes.
func (o *options) comparing(r *request) error {
	compare := &r.print.Compare
	if !o.noise {
		compare.Noise = change.DefaultNoise()
	}
	ignore, err := parsePatterns("ignore", o.ignore)
	if err != nil {
		return err
	}
	compare.Noise.Paths = append(compare.Noise.Paths, ignore...)
	if compare.Only, err = parsePatterns("only", o.only); err != nil {
		return err
	}
	masked, err := parsePatterns("mask", o.mask)
	if err != nil {
		return err
	}
	key := make([]byte, 32)
	_, err = rand.Read(key)
	compare.Masks = &change.Masks{Paths: masked, Secrets: !o.showSecrets, Key: key}
	r.print.Masks = &change.Masks{Paths: masked, Secrets: o.maskSecrets || o.hasReceiver() && !o.showSecrets, Key: key}
	r.print.Old, r.print.Changes, r.print.Patch = o.old, o.changes, o.patch
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
