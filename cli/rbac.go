package cli

import (
	"context"
	"errors"

	"dwatch/cli/access"
	"dwatch/cli/cluster"
	"dwatch/cli/flags"
)

// rbacFlags are the flags of dwatch rbac: those of the command whose rights it prints, but
// for its own format.
type rbacFlags struct {
	command
	format flags.Format
}

func newRBACFlags(of command) command { return &rbacFlags{command: of} }

func (r *rbacFlags) groups() []flags.Group {
	own := flags.NewGroup("What is printed", r.format.Adds([]string{"yaml", "json"}, "yaml or json; by default yaml"))
	return append([]flags.Group{own}, r.command.groups()...)
}

func (r *rbacFlags) parse(args []string, _ terminal) (runner, error) {
	r.format.Choose("yaml")
	if err := r.format.CheckName(); err != nil {
		return nil, err
	}
	of, err := r.command.parse(args, terminal{isTerminal: true})
	if err != nil {
		return nil, err
	}
	p, ok := of.(privileged)
	if !ok {
		return nil, errors.New("this asks no server for objects: it takes no rights")
	}
	if p.wanted().request.Wait {
		return nil, errors.New("dwatch rbac has to know the resources: it does not go with --wait")
	}
	wanted := p.wanted()
	wanted.anywhere = true
	return &roles{wanted, r.format.Name}, nil
}

type privileged interface{ wanted() wanted }

type wanted struct {
	connection *cluster.Flags
	selection
	identity bool // it has to know which cluster it is
	past     bool // it asks what happened before
	reasons  bool // it says why something is not ready
	logs     bool // and what the container that failed wrote
}

func (w *watching) wanted() wanted {
	_, delivers := w.to.(*delivery)
	return wanted{w.connection, w.selection, delivers || w.stateFile != "", w.past.isAsked(), w.ending.Conditions(), w.ending.Logs.Asked && w.ending.Logs.Lines > 0}
}

func (l *listed) wanted() wanted { return wanted{connection: l.connection, selection: l.selection} }

type roles struct {
	of     wanted
	format string
}

func (r *roles) run(ctx context.Context, c *console) error {
	ctx, stop := untilReaderGone(ctx, c.out.file)
	defer stop()
	return c.at(ctx, r.of.connection, 0, true, func(ctx context.Context, k *cluster.Cluster) error {
		self, as, err := k.WithoutImpersonation()
		if err != nil {
			return err
		}
		s, err := c.open(ctx, self, r.of.selection)
		if err != nil {
			return err
		}
		return s.rights.Print(ctx, s.out, s.needs(r.of), as, r.format)
	})
}

func (s *session) needs(of wanted) []access.Need {
	var needs []access.Need
	for _, t := range s.plan.Targets {
		needs = append(needs, s.rights.Watch(t))
		if s.about != nil {
			needs = append(needs, access.Owners(s.about.target, t.Namespace)...)
		}
	}
	for _, t := range s.plan.Targets {
		if of.reasons {
			needs = access.Add(needs, access.Reasons(t)...)
		}
		if of.logs && t.Namespaced() {
			needs = access.Add(needs, access.Logs(t))
		}
	}
	if of.request.Chooses() {
		needs = access.Add(needs, access.Namespaces())
	}
	if of.identity {
		needs = append(needs, access.Identity())
	}
	if of.past {
		for _, w := range s.witnesses() {
			needs = append(needs, access.List(w.resource, w.namespace))
		}
	}
	return needs
}
