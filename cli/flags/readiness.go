package flags

import (
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"dwatch/watcher/object/readiness"
)

// Readiness is the file with the user's rules about the state of custom resources.
type Readiness struct{ file string }

// AddTo adds the flag.
func (r *Readiness) AddTo(f *pflag.FlagSet) {
	f.StringVar(&r.file, "readiness", "", "Judge by the rules in `FILE`; see docs/readiness.md")
	notEmpty(f, "readiness")
}

// Load reads the rules and makes the process decide by them.
func (r *Readiness) Load() error {
	path := r.file
	if path == "" {
		path = readiness.DefaultFile()
		if _, err := os.Stat(path); path == "" || err != nil {
			return nil
		}
	}
	rules, err := readiness.ReadFile(path)
	switch {
	case err != nil && r.file != "":
		return fmt.Errorf("invalid --readiness: %w", err)
	case err != nil:
		return err
	}
	readiness.Use(rules)
	return nil
}
