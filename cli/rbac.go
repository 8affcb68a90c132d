package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"dwatch/cli/access"
	"dwatch/cli/cluster"
	"dwatch/cli/flags"
	"dwatch/cli/manifest"
	"dwatch/output"
)

// rbacFlags are the flags of dwatch rbac: those of the command whose rights it prints, but
// for its own format.
type rbacFlags struct {
	command
	format flags.Format
}

func newRBACFlags(of command, _ []string) command { return &rbacFlags{command: of} }

func (r *rbacFlags) groups() []flags.Group {
	own := flags.NewGroup("What is printed", r.format.Flags([]string{"yaml", "json"}, "yaml or json; by default yaml"))
	return append([]flags.Group{own}, r.command.groups()...)
}

func (r *rbacFlags) parse(args []string, _ terminal) (runner, error) {
	r.format.Resolve("yaml")
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
	all := p.wants()
	for i := range all {
		if all[i].request.WaitForResources {
			return nil, errors.New("dwatch rbac has to know the resources: it does not go with --wait")
		}
		all[i].anywhere = true
	}
	return &roles{all, r.format.Name}, nil
}

// privileged is a runner that takes rights: for each of what it does at once.
type privileged interface{ wants() []wanted }

type wanted struct {
	connection *cluster.Flags
	selection
	identity bool // it has to know which cluster it is
	past     bool // it asks what happened before
	reasons  bool // it says why something is not ready, or shows the Events about what owns pods
	logs     bool // and what the container that failed wrote
	formers  bool // it shows former templates
	lease    flags.Lease
}

func (w *watching) wanted() wanted {
	_, delivers := w.to.(*delivery)
	_, records := w.to.(*recorded)
	_, recordsEach := w.to.(*recordedEach)
	records = records || recordsEach || w.beside != nil
	_, shows := w.to.(*served)
	return wanted{w.connection, w.selection, delivers || records || w.stateFile != "", w.past.isAsked(), w.ending.HasConditions() || w.needs.events, w.ending.Logs.Explicit && w.ending.Logs.Lines > 0, shows, flags.Lease{}}
}

func (w *watching) wants() []wanted { return []wanted{w.wanted()} }

func (r *ruleset) wants() (all []wanted) {
	for _, one := range r.rules {
		all = append(all, one.wanted())
	}
	return all
}

func (l *listed) wants() []wanted { return []wanted{l.wanted()} }

func (l *listed) wanted() wanted { return wanted{connection: l.connection, selection: l.selection} }

type roles struct {
	of     []wanted // at least one
	format string
}

func (r *roles) run(ctx context.Context, c *console) error {
	ctx, stop := untilReaderGone(ctx, c.out.file)
	defer stop()
	if r.of[0].connection.HasMultipleContexts() {
		return r.runEach(ctx, c)
	}
	return c.at(ctx, r.of[0].connection, 0, true, func(ctx context.Context, k *cluster.Cluster) error {
		objects, err := r.find(ctx, c, k)
		if err != nil {
			return err
		}
		return r.print(c.out, objects)
	})
}

func (r *roles) find(ctx context.Context, c *console, k *cluster.Cluster) ([]any, error) {
	self, as, err := k.WithoutImpersonation()
	if err != nil {
		return nil, err
	}
	var needs []access.Permission
	var to rbacv1.Subject
	for i, of := range r.of {
		s, err := c.open(ctx, self, of.selection)
		if err == nil && i == 0 {
			to, err = s.rights.ResolveSubject(ctx, as)
		}
		if err != nil {
			return nil, err
		}
		needs = access.AddPermissions(needs, s.needs(of)...)
	}
	return access.BuildRoles(needs, to), nil
}

// isPlaced reports whether it is said of all of it in which namespaces to look.
func (r *roles) isPlaced() bool {
	return !slices.ContainsFunc(r.of, func(of wanted) bool { return !of.isPlaced() })
}

// runEach prints what it takes in several clusters, once where that is the same, and says in which it is.
func (r *roles) runEach(ctx context.Context, c *console) error {
	members, err := r.of[0].connection.SelectedContexts(r.isPlaced())
	if err != nil {
		return err
	}
	all := atEach(ctx, c, members, func(ctx context.Context, c *console, k *cluster.Cluster) (string, error) {
		var text strings.Builder
		objects, err := r.find(ctx, c, k)
		if err == nil {
			err = r.print(&text, objects)
		}
		return text.String(), err
	})
	if ctx.Err() != nil {
		return ended(ctx, ctx.Err(), true)
	}
	if !lackIt(c, all) {
		return failures(all)
	}
	return cmp.Or(r.printEach(c, all), failures(all))
}

func (r *roles) printEach(c *console, all []outcome[string]) error {
	var texts []string
	of := map[string][]string{}
	for _, o := range all {
		if o.is == "" {
			continue
		}
		if of[o.is] == nil {
			texts = append(texts, o.is)
		}
		of[o.is] = append(of[o.is], output.EscapeLine(o.cluster))
	}
	for i, text := range texts {
		names := strings.Join(of[text], ", ")
		switch {
		case r.format != "yaml":
			c.say("for " + names)
		case i > 0:
			text = "---\n# for " + names + "\n" + text
		default:
			text = "# for " + names + "\n" + text
		}
		if _, err := io.WriteString(c.out, text); err != nil {
			return err
		}
	}
	return nil
}

// print writes YAML documents, or with the format json one List.
func (r *roles) print(w io.Writer, objects []any) error {
	text, err := manifest.EncodeYAML(objects)
	if r.format == "json" {
		list := map[string]any{"apiVersion": "v1", "kind": "List", "items": objects}
		text, err = json.MarshalIndent(list, "", "    ")
		text = append(text, '\n')
	}
	if err == nil {
		_, err = w.Write(text)
	}
	return err
}

func (s *session) needs(of wanted) []access.Permission {
	var needs []access.Permission
	for _, t := range s.plan.Targets {
		needs = append(needs, s.rights.WatchPermission(t))
		if s.about != nil {
			needs = append(needs, access.OwnerPermissions(s.about.target, t.Namespace)...)
		}
	}
	for _, t := range s.plan.Targets {
		if of.reasons {
			needs = access.AddPermissions(needs, access.ReasonPermissions(t)...)
		}
		if of.logs && t.Namespaced() {
			needs = access.AddPermissions(needs, access.LogsPermission(t))
		}
	}
	if of.request.SelectsNamespaces() {
		needs = access.AddPermissions(needs, access.NamespacesPermission())
	}
	if of.identity {
		needs = append(needs, access.IdentityPermission())
	}
	if of.lease.IsSet() {
		needs = access.AddPermissions(needs, access.LeasePermissions(cmp.Or(of.lease.Namespace, s.Namespace), of.lease.Name)...)
	}
	for _, w := range s.witnesses() {
		if of.formers && w.resource.Group == "apps" {
			needs = access.AddPermissions(needs, access.ListPermission(w.resource, w.namespace))
		}
	}
	if of.past {
		for _, w := range s.witnesses() {
			needs = append(needs, access.ListPermission(w.resource, w.namespace))
		}
	}
	return needs
}
