package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"

	"github.com/spf13/pflag"

	"dwatch/cli/cluster"
	"dwatch/cli/console"
	"dwatch/cli/destination"
	"dwatch/cli/fail"
	"dwatch/cli/flags"
	"dwatch/cli/rules"
	"dwatch/cli/run"
	"dwatch/cli/supervisor"
	"dwatch/mapper"
	"dwatch/output"
	"dwatch/output/text"
)

// processFlags are flags of dwatch send that apply to all rules, in addition to the flags of the connection and of messages.
var processFlags = []string{"filename", "check", "state", "listen", "verify", "lease", "shard", "readiness"}

// notWithRules are flags that do not work in a rule, and why.
var notWithRules = []struct {
	names []string
	why   string
}{
	{[]string{"until", "fail-if", "until-for", "count", "timeout", "logs"}, "ends a run, but rules have no end"},
	{[]string{"from", "from-token-file", "from-ca", "since", "before"}, "reads a recording, but rules watch a cluster"},
	{[]string{"redeliver"}, "sends a file and ends"},
	{[]string{"record", "keep", "max-size"}, "is for a recording, which dwatch record writes"},
}

// whyNotWithRules returns why a flag does not work in a rule, or "" if it works.
func whyNotWithRules(name string) string {
	for _, no := range notWithRules {
		if slices.Contains(no.names, name) {
			return no.why
		}
	}
	return ""
}

// ruleFlags are the flags of dwatch send as members of a rule.
func ruleFlags() (known []rules.Flag) {
	s := new(sendOptions)
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	addFlags(all, s)
	all.VisitAll(func(f *pflag.Flag) {
		one := rules.Flag{Name: f.Name, ForbiddenReason: whyNotWithRules(f.Name), Values: flags.CompletionValues(f)}
		_, one.Usage = pflag.UnquoteUsage(f)
		switch f.Value.Type() {
		case "bool":
			one.IsBool = true
		case "stringArray", "stringSlice":
			one.Repeatable = true
		}
		if s.isOfProcess(f) {
			one.ForbiddenReason = "applies to all rules: give it on the command line"
		}
		if !f.Hidden {
			known = append(known, one)
		}
	})
	return known
}

// isOfProcess reports whether a flag applies to all rules.
func (s *sendOptions) isOfProcess(f *pflag.Flag) bool {
	messages := flags.NewGroup("", new(flags.Logging).AddTo)
	return slices.Contains(processFlags, f.Name) || s.server.Lookup(f.Name) != nil || messages.Flags.Lookup(f.Name) != nil
}

// completeRules reads the file of rules.
func (s *sendOptions) completeRules(args []string) error {
	if err := cmp.Or(s.checkProcessFlags(args), s.checkShardFlags()); err != nil {
		return err
	}
	if variable := flags.CredentialVariable(); variable != "" {
		return fmt.Errorf("$%s would apply to the webhooks and commands of all rules: unset it, put its value into a file, and give that file in its rule as to-token-file, to-header-file, to-signing-file or kafka-login", variable)
	}
	path, text, err := supervisor.ReadFile(s.file.File)
	if err != nil {
		return err
	}
	c := &supervisor.Config{Connection: &s.connection, File: s.file.File, Text: text, Parse: s.parseAll, Listen: s.cfg.Listen, Verify: s.cfg.Verify, StateDir: s.cfg.StateFile}
	if c.Rules, err = s.parseAll(path, text); err != nil {
		return err
	}
	s.rules, s.rulesPath = c, path
	return nil
}

// checkProcessFlags returns an error for a flag or argument that belongs in a rule.
func (s *sendOptions) checkProcessFlags(args []string) (wrong error) {
	if len(args) > 0 {
		return fmt.Errorf("with -f, the rules name the resources and the receiver: it cannot be combined with %q", output.EscapeLine(args[0]))
	}
	s.all.Visit(func(f *pflag.Flag) {
		why := whyNotWithRules(f.Name)
		switch {
		case wrong != nil || s.own.Lookup(f.Name) != f || s.isOfProcess(f): // the second one is a flag of an outer command, such as rbac
		case why != "":
			wrong = fmt.Errorf("--%s %s: it cannot be combined with -f", f.Name, why)
		default:
			wrong = fmt.Errorf("with -f, --%s belongs in a rule, not on the command line", f.Name)
		}
	})
	return wrong
}

// parseAll parses the rules of a file. The error has a line for each mistake.
func (s *sendOptions) parseAll(path string, text []byte) (all []*supervisor.Rule, err error) {
	read, err := rules.Parse(path, text, ruleFlags())
	if err != nil {
		return nil, err
	}
	var wrong []error
	for _, of := range read {
		one, err := s.parseRule(of)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		path := string(one.Receiver.DeadLetters)
		for _, other := range all {
			if destination.SameFile(path, string(other.Receiver.DeadLetters)) {
				wrong = append(wrong, fmt.Errorf("%s: rule %s: %s is already the file of --dead-letters of rule %s: each rule needs its own file, so that its dead letters can be sent again", of.FlagPosition("dead-letters"), of.Name, output.EscapeLine(path), other.Name))
			}
		}
		all = append(all, one)
	}
	return all, errors.Join(wrong...)
}

// flagNamed finds the flag that an error is about.
var flagNamed = regexp.MustCompile(`--([a-z][a-z-]*)`)

// parseRule parses a rule as if it were a command line.
func (s *sendOptions) parseRule(of *rules.Rule) (*supervisor.Rule, error) {
	own := new(sendOptions)
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	addFlags(f, own)
	var wrong []error
	fails := func(at string, err error) {
		wrong = append(wrong, fmt.Errorf("%s: rule %s: %w", at, of.Name, err))
	}
	given := of.Flags
	if s.cfg.StateFile != "" {
		given = append(slices.Clone(given), rules.FlagValue{Name: "state", Value: supervisor.StatePath(s.cfg.StateFile, of.Name)})
	}
	if f := s.all.Lookup("shard"); f.Changed {
		given = append(slices.Clone(given), rules.FlagValue{Name: f.Name, Value: f.Value.String()})
	}
	for _, g := range given {
		if err := f.Set(g.Name, g.Value); err != nil {
			fails(g.Position, flags.ExplainParseError(err, "dwatch send --help-all"))
		}
	}
	if len(wrong) > 0 {
		return nil, errors.Join(wrong...)
	}
	var line []string
	if of.Command != nil {
		line = append([]string{"--"}, of.Command...)
	}
	if err := f.Parse(line); err != nil {
		return nil, err // the line has no flags
	}
	err := own.complete(f.Args(), console.Terminal{})
	if err == nil {
		err = own.validate()
	}
	switch {
	case errors.Is(err, mapper.ErrNoResource):
		fails(of.Position, errors.New("it needs resources to watch, such as resources: [deploy, pods]"))
	case err != nil:
		at := of.Position
		if named := flagNamed.FindStringSubmatch(err.Error()); named != nil {
			at = of.FlagPosition(named[1])
		}
		fails(at, err)
	default:
		cfg := own.cfg
		cfg.Connection = &s.connection
		return &supervisor.Rule{Rule: of, Config: cfg, Receiver: own.receiver()}, nil
	}
	return nil, errors.Join(wrong...)
}

// rulesTask runs the rules of a file.
type rulesTask struct{ supervisor.Config }

func (r *rulesTask) isLasting() bool { return true }

// judgesStates implements judgingTask. A condition of a rule that is added later is judged by the rules that are read then.
func (r *rulesTask) judgesStates() bool {
	return slices.ContainsFunc(r.Rules, func(one *supervisor.Rule) bool { return one.Config.JudgesStates() })
}

func (r *rulesTask) run(ctx context.Context, c *console.Console) error {
	return supervisor.New(r.Config).Run(ctx, c)
}

func (r *rulesTask) needs() (all []run.Need) {
	for _, one := range r.Rules {
		all = append(all, needOf(&one.Config, destination.NewReceiver(one.Receiver)))
	}
	return all
}

// checkRulesTask reports that the rules of a file are valid (--check).
type checkRulesTask struct {
	supervisor.Config
	path string
}

func (r *checkRulesTask) run(_ context.Context, c *console.Console) error {
	if r.Connection.HasMultipleContexts() {
		return fail.Usage(cluster.ErrMultipleContexts)
	}
	if there, err := os.Stat(r.StateDir); err == nil && !there.IsDir() {
		return fail.Usage(fmt.Errorf("%s: %s is a file", supervisor.StateUsage, output.EscapeLine(r.StateDir)))
	}
	if err := supervisor.CheckReceivers(r.Rules, c.WithoutReports()); err != nil {
		return err
	}
	c.Say(fmt.Sprintf("%s: %s, no errors", r.path, text.Count(len(r.Rules), "rule")))
	return nil
}
