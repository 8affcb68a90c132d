package flags

import (
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"dwatch/watcher/object/readiness"
)

// Readiness is the file with the user's rules about the state of custom resources.
type Readiness struct{ file string }

// AddTo adds --readiness.
func (r *Readiness) AddTo(f *pflag.FlagSet) {
	f.StringVar(&r.file, "readiness", "", "Use the readiness rules in `FILE` for custom resources; see docs/reference/readiness-rules.md")
	notEmpty(f, "readiness")
}

// IsSet reports whether --readiness is given.
func (r *Readiness) IsSet() bool { return r.file != "" }

// Load reads the rules from the file, or from readiness.DefaultFile if it exists, and sets them for the whole process.
func (r *Readiness) Load() error {
	path := r.file
	if path == "" {
		if path = ownRules(); path == "" {
			return nil
		}
	}
	rules, err := readiness.ReadFile(path)
	switch {
	case err != nil && r.IsSet():
		return fmt.Errorf("invalid --readiness: %w", err)
	case err != nil:
		return err
	}
	readiness.Use(rules)
	return nil
}

// LoadLater makes the process read the user's own file when it judges the first custom resource. warn gets a mistake in
// the file, which is then not used. It may be called from any goroutine.
func (r *Readiness) LoadLater(warn func(error)) {
	readiness.UseLater(func() []*readiness.Rule {
		path := ownRules()
		if path == "" {
			return nil
		}
		rules, err := readiness.ReadFile(path)
		if err != nil {
			warn(err)
			return nil
		}
		return rules
	})
}

// ownRules returns the path of the user's own rules; empty if there are none.
func ownRules() string {
	path := readiness.DefaultFile()
	if _, err := os.Stat(path); path == "" || err != nil {
		return ""
	}
	return path
}
