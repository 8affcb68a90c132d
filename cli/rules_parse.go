package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/spf13/pflag"

	"dwatch/cli/cluster"
	"dwatch/cli/fail"
	"dwatch/cli/flags"
	"dwatch/cli/rules"
	"dwatch/mapper"
	"dwatch/output"
	"dwatch/output/deliver"
)

// ofProcess are flags of dwatch send that are of all rules together, besides those of the connection and of messages.
var ofProcess = []string{"filename", "check", "state", "listen", "verify", "lease", "shard", "readiness"}

// notWithRules are flags that rules have no use for, and why.
var notWithRules = []struct {
	names []string
	why   string
}{
	{[]string{"until", "fail-if", "until-for", "count", "timeout", "logs"}, "ends a run, and rules go on"},
	{[]string{"from", "from-token-file", "from-ca", "since", "before"}, "asks a recording, and rules are of what happens now"},
	{[]string{"redeliver"}, "sends a file, and ends"},
	{[]string{"record", "keep", "max-size"}, "is for a recording: dwatch record makes one"},
}

// whyNotWithRules is why rules have no use for a flag; empty if they have.
func whyNotWithRules(name string) string {
	for _, no := range notWithRules {
		if slices.Contains(no.names, name) {
			return no.why
		}
	}
	return ""
}

// ruleFlags are the flags of dwatch send, as a file of rules sees them.
func ruleFlags() (known []rules.Flag) {
	s := new(sendFlags)
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
			one.ForbiddenReason = "is for all rules: it stands on the command line"
		}
		if !f.Hidden {
			known = append(known, one)
		}
	})
	return known
}

// isOfProcess reports whether a flag is of all rules together.
func (s *sendFlags) isOfProcess(f *pflag.Flag) bool {
	messages := flags.NewGroup("", new(flags.Logging).AddTo)
	return slices.Contains(ofProcess, f.Name) || s.server.Lookup(f.Name) != nil || messages.Flags.Lookup(f.Name) != nil
}

// parseRules is parse for the rules of a file.
func (s *sendFlags) parseRules(args []string) (runner, error) {
	if err := cmp.Or(s.checkBeside(args), s.checkBesideShard()); err != nil {
		return nil, err
	}
	if variable := flags.CredentialVariable(); variable != "" {
		return nil, fmt.Errorf("$%s would go to the webhooks and the commands of all rules: unset it, put its value into a file, and name that in the rule that it is for, as to-token-file, to-header-file, to-signing-file or kafka-login", variable)
	}
	path, text, err := readRules(s.rules.File)
	if err != nil {
		return nil, err
	}
	set := &ruleset{connection: &s.connection, file: s.rules.File, text: text, parse: s.parseAll, listen: s.w.listen, verify: s.w.verify, stateDir: s.w.stateFile}
	if set.rules, err = s.parseAll(path, text); err != nil {
		return nil, err
	}
	if s.rules.CheckOnly {
		return &checkedRules{set, path}, nil
	}
	if s.lease.IsSet() {
		return s.led(set), nil
	}
	return set, nil
}

// checkBeside finds what of the command line belongs into a rule.
func (s *sendFlags) checkBeside(args []string) (wrong error) {
	if len(args) > 0 {
		return fmt.Errorf("with -f the resources, and the receiver, stand in the rules: it does not go with %q", output.EscapeLine(args[0]))
	}
	s.all.Visit(func(f *pflag.Flag) {
		why := whyNotWithRules(f.Name)
		switch {
		case wrong != nil || s.own.Lookup(f.Name) != f || s.isOfProcess(f): // or it is of a command around this one
		case why != "":
			wrong = fmt.Errorf("--%s %s: it does not go with -f", f.Name, why)
		default:
			wrong = fmt.Errorf("with -f each rule says it by itself: --%s stands in a rule, and not on the command line", f.Name)
		}
	})
	return wrong
}

// largestRules is how large a file of rules may be: as large as a ConfigMap.
const largestRules = 1 << 20

// readRules returns the text of a file, and what to call it.
func readRules(file string) (name string, text []byte, err error) {
	from, name := os.Stdin, "stdin"
	if file != "-" {
		name = output.EscapeLine(file)
		if from, err = os.Open(file); err != nil {
			return "", nil, fmt.Errorf("-f: %w", err)
		}
		defer from.Close()
	}
	text, err = io.ReadAll(io.LimitReader(from, largestRules+1))
	if err == nil && len(text) > largestRules {
		err = fmt.Errorf("it is larger than %d KiB", largestRules>>10)
	}
	if err != nil {
		return "", nil, fmt.Errorf("-f %s: %w", name, err)
	}
	return name, text, nil
}

// parseAll makes runs of rules. The error has a line for each mistake.
func (s *sendFlags) parseAll(path string, text []byte) (all []*rule, err error) {
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
		path := string(one.delivery().DeadLetters)
		for _, other := range all {
			if path != "" && isSameFile(path, string(other.delivery().DeadLetters)) {
				wrong = append(wrong, fmt.Errorf("%s: rule %s: %s is the file of --dead-letters of rule %s, too: what was given up of each can be sent again only from a file of its own", of.FlagPosition("dead-letters"), of.Name, output.EscapeLine(path), other.Name))
			}
		}
		all = append(all, one)
	}
	return all, errors.Join(wrong...)
}

// flagNamed finds which flag an error is about.
var flagNamed = regexp.MustCompile(`--([a-z][a-z-]*)`)

// parseRule makes a run of a rule, as of a command line.
func (s *sendFlags) parseRule(of *rules.Rule) (*rule, error) {
	own := new(sendFlags)
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	addFlags(f, own)
	var wrong []error
	fails := func(at string, err error) {
		wrong = append(wrong, fmt.Errorf("%s: rule %s: %w", at, of.Name, err))
	}
	given := of.Flags
	if s.w.stateFile != "" {
		given = append(slices.Clone(given), rules.FlagValue{Name: "state", Value: stateOf(s.w.stateFile, of.Name)})
	}
	if f := s.all.Lookup("shard"); f.Changed {
		given = append(slices.Clone(given), rules.FlagValue{Name: f.Name, Value: f.Value.String()})
	}
	for _, g := range given {
		if err := f.Set(g.Name, g.Value); err != nil {
			fails(g.Position, flags.ExplainParseError(err, "dwatch send --help"))
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
		return nil, err // which has no flags
	}
	r, err := own.parse(f.Args(), terminal{})
	one, is := r.(*watching)
	switch {
	case errors.Is(err, mapper.ErrNoResource):
		fails(of.Position, errors.New("it says what to watch with resources, such as [deploy, pods]"))
	case err != nil:
		at := of.Position
		if named := flagNamed.FindStringSubmatch(err.Error()); named != nil {
			at = of.FlagPosition(named[1])
		}
		fails(at, err)
	case !is:
		fails(of.Position, errors.New("it watches nothing"))
	default:
		one.connection = &s.connection
		one.to.(*delivery).rule = of.Name
		return &rule{watching: one, Rule: of}, nil
	}
	return nil, errors.Join(wrong...)
}

// stateOf is the file of a rule in the directory of --state.
func stateOf(dir, rule string) string { return filepath.Join(dir, rule+".state") }

// checkReceiver makes sure that the receiver can be made, and its files.
func (one *rule) checkReceiver(c *console) error {
	at := one.FlagPosition("dead-letters")
	err := one.delivery().checkLetters(deliver.DeadLetterFile.CheckPath)
	if err != nil {
		return fmt.Errorf("%s: rule %s: %w", at, one.Name, err)
	}
	if err = one.delivery().newReceiver(c); err == nil {
		return nil
	}
	at = one.FlagPosition("to")
	if at == one.Position {
		at = one.FlagPosition("to-file")
	}
	return fail.Usage(fmt.Errorf("%s: rule %s: %w", at, one.Name, err))
}

// checkReceivers makes sure of all that they can be made.
func checkReceivers(rules []*rule, c *console) error {
	var wrong []error
	for _, one := range rules {
		err := one.checkReceiver(c)
		if wrong = append(wrong, err); err == nil {
			one.to.close()
		}
	}
	return errors.Join(wrong...)
}

// stateTakes is what --state takes with rules.
const stateTakes = "--state takes, with -f, a directory, with a file for each rule"

// checkedRules says of rules that nothing is wrong with them.
type checkedRules struct {
	*ruleset
	path string
}

func (r *checkedRules) run(_ context.Context, c *console) error {
	if r.connection.HasMultipleContexts() {
		return fail.Usage(cluster.ErrMultipleContexts)
	}
	if there, err := os.Stat(r.stateDir); err == nil && !there.IsDir() {
		return fail.Usage(fmt.Errorf("%s: %s is a file", stateTakes, output.EscapeLine(r.stateDir)))
	}
	if err := checkReceivers(r.rules, c.silent()); err != nil {
		return err
	}
	c.say(fmt.Sprintf("%s: %s, nothing is wrong", r.path, plural(len(r.rules), "rule")))
	return nil
}
