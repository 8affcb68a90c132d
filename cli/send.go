package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/pflag"

	"dwatch/cli/cluster"
	"dwatch/cli/console"
	"dwatch/cli/destination"
	"dwatch/cli/flags"
	"dwatch/cli/lease"
	"dwatch/cli/metrics"
	"dwatch/cli/replay"
	"dwatch/cli/run"
	"dwatch/cli/supervisor"
	"dwatch/output"
)

// sendOptions are the flags of dwatch send. Its fields are the groups of flags.
type sendOptions struct {
	followOptions
	what  sendWhat
	where flags.Delivery

	record    flags.Recording
	played    flags.Replay
	file      flags.Rules
	lease     flags.Lease
	rules     *supervisor.Config // of the file, or nil
	rulesPath string             // how messages name the file

	watched *pflag.FlagSet // flags that have an effect only if a cluster is watched
	own     *pflag.FlagSet // all flags except the ones that every command has
}

// sendWhat are the flags for the content of messages.
type sendWhat struct {
	format flags.Format
	noise  flags.Noise
	masks  flags.Masks
	chat   flags.Chat
}

func (s *sendOptions) groups() []flags.Group {
	c := &s.cfg
	groups := []flags.Group{
		flags.NewGroup("What to watch", s.targets.AddTo, s.targets.AddShard, flags.Subject(&s.object), s.targets.AddWait),
		s.played.Group(),
		flags.NewGroup("Which events", flags.Events(&c.Filter), flags.Where(&c.Where), c.Settle.AddTo),
		flags.NewGroup("Output", s.what.format.Flags([]string{"json", "yaml"}, "json or yaml; by default json"), s.what.chat.AddTo, flags.PreviousState(&c.Print), s.what.noise.AddTo, s.what.masks.AddTo, s.what.masks.AddShowSecrets(""), flags.ManagedFields(&c.KeepManaged)),
		flags.NewGroup("Recording", s.record.AddTo),
		s.endGroup(),
	}
	s.watched = pflag.NewFlagSet("", pflag.ContinueOnError)
	for _, g := range groups {
		s.watched.AddFlagSet(g.Flags)
	}
	groups = append(groups,
		flags.NewGroup("Rules and replicas", s.file.AddTo, s.lease.AddTo),
		flags.NewGroup("Delivery", s.where.AddTo),
		flags.NewGroup("Webhooks, NATS and Kafka", s.where.AddReceiversTo))
	s.own = pflag.NewFlagSet("", pflag.ContinueOnError)
	for _, g := range groups {
		s.own.AddFlagSet(g.Flags)
	}
	return groups
}

func (s *sendOptions) complete(args []string, _ console.Terminal) error {
	args, command := s.cutCommand(args)
	if err := s.file.Parse(); err != nil {
		return err
	}
	if err := s.checkLease(); err != nil {
		return err
	}
	if s.file.File != "" {
		return s.completeRules(slices.Concat(args, command))
	}
	if err := s.where.Parse(command, s.cfg.StateFile != ""); err != nil {
		return err
	}
	if s.where.RedeliverFile != "" {
		return s.checkRedelivery(args)
	}
	s.what.format.Resolve("json")
	if err := cmp.Or(s.completeTargets(args), s.played.Parse(s.all)); err != nil {
		return err
	}
	if err := s.cfg.Settle.Parse(); err != nil {
		return err
	}
	if s.what.chat.IsSet() {
		if err := s.what.chat.Parse(); err != nil {
			return err
		}
	}
	s.what.noise.Apply(&s.cfg.Print.Compare)
	s.cfg.Ignored = s.what.noise.IgnoredPaths()
	s.recordTee(s.record)
	return cmp.Or(s.what.format.Parse(&s.cfg.Print), s.what.masks.Parse(&s.cfg.Print, true))
}

// cutCommand takes the command after "--" out of the arguments. It is nil if there is no "--".
func (s *sendOptions) cutCommand(args []string) (rest, command []string) {
	if at := s.all.ArgsLenAtDash(); at >= 0 {
		return args[:at], args[at:len(args):len(args)]
	}
	return args, nil
}

func (s *sendOptions) validate() error {
	if s.file.File != "" || s.where.RedeliverFile != "" {
		return nil // checked with the arguments
	}
	if err := cmp.Or(s.checkWhat(), s.record.Check(s.all), s.cfg.CheckRecording()); err != nil {
		return err
	}
	if s.played.From.IsSet() && !s.lease.IsSet() {
		return s.checkReplay()
	}
	return nil
}

func (s *sendOptions) checkWhat() error {
	chat := s.what.chat.IsSet()
	if s.what.chat.Cluster != "" && !chat {
		return errors.New("--cluster-name is for messages to people: it needs --template")
	}
	for _, other := range []string{"output", "changes", "old", "patch", "latest", "batch", "show-managed-fields"} {
		if chat && s.all.Changed(other) {
			return fmt.Errorf("--template sends messages for people: it cannot be combined with --%s", other)
		}
	}
	switch name := s.what.noise.ChangedFlag(s.all); {
	case s.cfg.Settle.IsSet() && s.all.Changed("count"):
		return errors.New("--count counts single changes, but --settle merges them: they cannot be combined")
	case s.cfg.Settle.IsSet() && s.played.From.IsSet():
		return errors.New("--settle waits for current changes: it cannot be combined with --from")
	case name != "" && !s.cfg.Print.Changes && !chat:
		return fmt.Errorf("--%s is for changes: it needs --changes or --template", name)
	case s.where.Batch && s.what.format.Name == "yaml":
		return errors.New("--batch sends each event as a line of JSON: it cannot be combined with -o yaml")
	}
	return nil
}

// checkRedelivery returns an error for flags and arguments that have no effect if nothing is watched.
func (s *sendOptions) checkRedelivery(args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("--redeliver sends the events in a file, and watches nothing: it cannot be combined with %q", output.EscapeLine(args[0]))
	}
	wrong := ""
	find := func(f *pflag.Flag) {
		if f.Changed && f.Name != "timeout" {
			wrong = f.Name
		}
	}
	s.watched.VisitAll(find)
	if s.where.URL == nil { // a receiver at a URL needs to know the cluster
		s.server.VisitAll(find)
	}
	if s.where.LatestOnly {
		wrong = "latest"
	}
	if wrong != "" {
		return fmt.Errorf("--redeliver sends the events in a file unchanged: it cannot be combined with --%s", wrong)
	}
	return nil
}

// checkLease returns an error for flags that cannot be combined with --lease.
func (s *sendOptions) checkLease() (wrong error) {
	if !s.lease.IsSet() {
		return nil
	}
	s.all.Visit(func(f *pflag.Flag) {
		if wrong == nil && whyNotWithRules(f.Name) != "" {
			wrong = fmt.Errorf("--lease is for watching a cluster without an end: it cannot be combined with --%s", f.Name)
		}
	})
	return wrong
}

// receiver are the options of the receiver.
func (s *sendOptions) receiver() destination.ReceiverOptions {
	chat := s.what.chat.IsSet()
	o := destination.ReceiverOptions{
		Delivery: s.where, StateFile: s.cfg.StateFile,
		Needs: run.Requirements{Old: s.cfg.PrintsOld() || chat, ManagedFields: s.cfg.Print.Changes || chat},
	}
	if chat {
		o.Chat = &s.what.chat
	}
	return o
}

func (s *sendOptions) task() task {
	switch {
	case s.rules != nil && s.file.CheckOnly:
		return &checkRulesTask{*s.rules, s.rulesPath}
	case s.rules != nil && s.lease.IsSet():
		return &leaseTask{replica: s.rules.Replica(s.lease), rights: (&rulesTask{*s.rules}).needs(), rules: s.rules}
	case s.rules != nil:
		return &rulesTask{*s.rules}
	case s.where.RedeliverFile != "":
		return &redeliverTask{destination.Redelivery{Connection: &s.connection, Timeout: s.cfg.Ending.Timeout, Delivery: s.where}}
	}
	t := &watchTask{cfg: s.cfg, to: destination.NewReceiver(s.receiver()), receiver: s}
	switch {
	case s.lease.IsSet():
		return &leaseTask{replica: s.replica(), rights: t.needs(), watch: t}
	case s.played.From.IsSet():
		t.cfg.Filter.WatchOnly = t.cfg.Filter.WatchOnly || !s.played.Range.Since.IsZero() // what existed then was sent before
		t.player = replay.NewPlayer(replay.Options{From: s.played.From, Span: s.played.Range, Unread: "not all events may have been sent"})
	}
	return t
}

// leaseTask runs one of several replicas.
type leaseTask struct {
	replica *run.Replica
	rights  []run.Need
	watch   *watchTask         // the single run, or nil
	rules   *supervisor.Config // the rules, or nil
}

func (l *leaseTask) isLasting() bool { return true }

func (l *leaseTask) run(ctx context.Context, c *console.Console) error {
	if l.rules != nil { // SIGHUP must not end the process while no rules run
		defer l.rules.NotifyReload(c, make(chan os.Signal, 1))()
	}
	return l.replica.Run(ctx, c)
}

func (l *leaseTask) needs() []run.Need {
	all := slices.Clone(l.rights)
	all[0].Lease = l.replica.Lease
	return all
}

// replica runs the command line while it holds the Lease.
func (s *sendOptions) replica() *run.Replica {
	return &run.Replica{
		Lease: s.lease, Connection: &s.connection, Listen: s.cfg.Listen, HasState: s.cfg.StateFile != "",
		Check: func(c *console.Console) error { return destination.NewReceiver(s.receiver()).Check(c) },
		Work: func(ctx context.Context, c *console.Console, k *cluster.Cluster, term *lease.Term, measured *metrics.Replica) error {
			cfg, o := s.cfg, s.receiver()
			o.Term = term
			var to run.Destination = destination.NewReceiver(o)
			if term == nil {
				cfg, to = run.StandBy(cfg), destination.Nothing{}
			}
			r := run.New(c, cfg, to)
			r.SetTerm(term)
			if err := r.Prepare(); err != nil {
				return err
			}
			defer r.Close()
			if measured != nil {
				m := run.NewMetrics(&cfg)
				r.SetMetrics(m)
				measured.SetRun(m, term.IsHeld)
			} else {
				r.SetMetrics(nil)
			}
			return r.Follow(ctx, run.Connected(k))
		},
	}
}

// redeliverTask sends dead letters again.
type redeliverTask struct{ destination.Redelivery }

func (r *redeliverTask) isLasting() bool { return true }

func (r *redeliverTask) run(ctx context.Context, c *console.Console) error {
	return r.Redelivery.Run(ctx, c)
}
