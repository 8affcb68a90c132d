package flags

import (
	"errors"

	"github.com/spf13/pflag"
)

// Rules holds the flags for a rules file. The zero value means that the command line is the only rule.
type Rules struct {
	File      string
	CheckOnly bool // validate the rules without connecting to a cluster
}

func (r *Rules) AddTo(f *pflag.FlagSet) {
	f.StringVarP(&r.File, "filename", "f", "", "Send events by the rules in `FILE`, which share their watches; - is stdin; see docs/reference/rules-file.md")
	describeBriefly(f, "filename", "Send events by the rules in `FILE`")
	f.BoolVar(&r.CheckOnly, "check", false, "With -f, report errors in the rules and end, without connecting to a cluster")
	notEmpty(f, "filename")
}

// Parse returns an error if --check is given without -f.
func (r *Rules) Parse() error {
	if r.CheckOnly && r.File == "" {
		return errors.New("--check is for a file of rules: it needs -f FILE")
	}
	return nil
}
