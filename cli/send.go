package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/pflag"

	"dwatch/cli/flags"
	"dwatch/output"
)

type sendFlags struct {
	followFlags
	format   flags.Format
	noise    flags.Noise
	masks    flags.Masks
	chat     flags.Chat
	settle   flags.Settle
	delivery flags.Delivery
	beside   flags.Recording
	played   flags.Replay
	rules    flags.Rules
	lease    flags.Lease
	watched  *pflag.FlagSet // those that mean something only where something is watched
	own      *pflag.FlagSet // all but those of every command
}

func (s *sendFlags) groups() []flags.Group {
	w := &s.w
	groups := []flags.Group{
		flags.NewGroup("What to watch", s.targets.AddTo, s.targets.AddShard, flags.Subject(&s.object), s.targets.AddWait),
		s.played.Group(),
		flags.NewGroup("Which events", flags.Events(&w.filter), flags.Where(&w.where), s.settle.AddTo),
		flags.NewGroup("What is sent", s.format.Flags([]string{"json", "yaml"}, "json or yaml; by default json"), s.chat.AddTo, flags.PreviousState(&w.print), s.noise.AddTo, s.masks.AddTo, s.masks.AddShowSecrets(""), flags.ManagedFields(&w.kept)),
		flags.NewGroup("The recording", s.beside.AddTo),
		s.endGroup(),
	}
	s.watched = pflag.NewFlagSet("", pflag.ContinueOnError)
	for _, g := range groups {
		s.watched.AddFlagSet(g.Flags)
	}
	groups = append(groups,
		flags.NewGroup("Several at once", s.rules.AddTo, s.lease.AddTo),
		flags.NewGroup("Where it goes, and how", s.delivery.AddTo),
		flags.NewGroup("Webhooks, NATS and Kafka", s.delivery.AddReceiversTo))
	s.own = pflag.NewFlagSet("", pflag.ContinueOnError)
	for _, g := range groups {
		s.own.AddFlagSet(g.Flags)
	}
	return groups
}

func (s *sendFlags) parse(args []string, _ terminal) (runner, error) {
	w := &s.w
	args, command := s.cutCommand(args)
	if err := s.rules.Parse(); err != nil {
		return nil, err
	}
	if err := s.checkLed(); err != nil {
		return nil, err
	}
	if s.rules.File != "" {
		return s.parseRules(slices.Concat(args, command))
	}
	d := &s.delivery
	if err := d.Parse(command, w.stateFile != ""); err != nil {
		return nil, err
	}
	if d.RedeliverFile != "" {
		return s.parseRedelivery(args)
	}
	s.format.Resolve("json")
	if err := cmp.Or(s.parseTargets(args), s.played.Parse(s.all)); err != nil {
		return nil, err
	}
	if err := s.settle.Parse(); err != nil {
		return nil, err
	}
	w.fleets, w.settle = true, s.settle
	w.needs = needs{old: w.showsOld() || s.chat.IsSet(), managedFields: w.print.Changes || s.chat.IsSet()}
	to := &delivery{Delivery: *d, stateFile: w.stateFile}
	if s.chat.IsSet() {
		if err := s.chat.Parse(); err != nil {
			return nil, err
		}
		to.chat = &s.chat
	}
	w.parallel, w.to = d.Workers, to
	s.noise.Apply(&w.print.Compare)
	w.ignored = s.noise.IgnoredPaths()
	switch err := cmp.Or(s.format.Parse(&w.print), s.masks.Parse(&w.print, true), s.check(), s.recordsBeside(s.beside)); {
	case err != nil:
		return nil, err
	case s.lease.IsSet():
		return s.led(w), nil
	case !s.played.From.IsSet():
		return w, nil
	}
	w.filter.WatchOnly = w.filter.WatchOnly || !s.played.Range.Since.IsZero() // what was there then was sent before
	return s.replay(s.played, "what was sent may not be all")
}

func (s *sendFlags) check() error {
	if s.chat.Cluster != "" && !s.chat.IsSet() {
		return errors.New("--cluster-name is for messages to people: it needs --template")
	}
	for _, other := range []string{"output", "changes", "old", "patch", "latest", "batch", "show-managed-fields"} {
		if s.chat.IsSet() && s.all.Changed(other) {
			return fmt.Errorf("--template says what changed, in people's words: it does not go with --%s", other)
		}
	}
	switch name := s.noise.ChangedFlag(s.all); {
	case s.settle.IsSet() && s.all.Changed("count"):
		return errors.New("--count counts single changes, and with --settle several are told as one: they don't go together")
	case s.settle.IsSet() && s.played.From.IsSet():
		return errors.New("--settle waits until it is quiet now: it does not go with --from")
	case name != "" && !s.w.print.Changes && !s.chat.IsSet():
		return fmt.Errorf("--%s is for what changes: it needs --changes or --template", name)
	case s.delivery.Batch && s.format.Name == "yaml":
		return errors.New("--batch sends each event as a line of JSON: it does not go with -o yaml")
	}
	return nil
}

// parseRedelivery finds what makes no sense where nothing is watched.
func (s *sendFlags) parseRedelivery(args []string) (runner, error) {
	if len(args) > 0 {
		return nil, fmt.Errorf("--redeliver sends what a file holds, and watches nothing: it does not go with %q", output.EscapeLine(args[0]))
	}
	wrong := ""
	find := func(f *pflag.Flag) {
		if f.Changed && f.Name != "timeout" {
			wrong = f.Name
		}
	}
	s.watched.VisitAll(find)
	if s.delivery.URL == nil { // else it is asked which cluster it is
		s.server.VisitAll(find)
	}
	if s.delivery.LatestOnly {
		wrong = "latest"
	}
	if wrong != "" {
		return nil, fmt.Errorf("--redeliver sends what a file holds, as it is there: it does not go with --%s", wrong)
	}
	return &redelivery{connection: &s.connection, timeout: s.w.ending.Timeout, delivery: delivery{Delivery: s.delivery}}, nil
}

// cutCommand takes the command after "--" out of the arguments; nil: there is no "--".
func (s *sendFlags) cutCommand(args []string) (rest, command []string) {
	if at := s.all.ArgsLenAtDash(); at >= 0 {
		return args[:at], args[at:len(args):len(args)]
	}
	return args, nil
}
