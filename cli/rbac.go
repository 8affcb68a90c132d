package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"dwatch/cli/access"
	"dwatch/cli/cluster"
	"dwatch/cli/console"
	"dwatch/cli/flags"
	"dwatch/cli/manifest"
	"dwatch/cli/run"
	"dwatch/output"
)

// rbacOptions are the flags of another command, whose rights dwatch rbac prints, and the format.
type rbacOptions struct {
	options
	format flags.Format
	needs  []run.Need
}

func newRBACOptions(of options, _ []string) options { return &rbacOptions{options: of} }

func (r *rbacOptions) groups() []flags.Group {
	own := flags.NewGroup("Format of the roles", r.format.Flags([]string{"yaml", "json"}, "yaml or json; by default yaml"))
	return append([]flags.Group{own}, r.options.groups()...)
}

func (r *rbacOptions) complete(args []string, _ console.Terminal) error {
	r.format.Resolve("yaml")
	if err := r.format.CheckName(); err != nil {
		return err
	}
	return r.options.complete(args, console.Terminal{IsTerminal: true})
}

func (r *rbacOptions) validate() error {
	if err := r.options.validate(); err != nil {
		return err
	}
	of, ok := r.options.task().(privileged)
	if !ok || !takesRights(of) {
		return errors.New("this command line reads no objects from a cluster: it needs no permissions")
	}
	r.needs = of.needs()
	for i := range r.needs {
		if r.needs[i].Request.WaitForResources {
			return errors.New("dwatch rbac needs to know the resources: it cannot be combined with --wait")
		}
		r.needs[i].AnyNamespace = true
	}
	return nil
}

// takesRights reports whether a task reads a cluster. A recording takes no rights.
func takesRights(of privileged) bool {
	switch of := of.(type) {
	case *watchTask:
		return of.player == nil && of.browser == nil
	case *pastListTask:
		return false
	}
	return true
}

func (r *rbacOptions) task() task { return &rolesTask{r.needs, r.format.Name} }

// rolesTask prints the roles that a command line needs.
type rolesTask struct {
	needs  []run.Need // at least one
	format string
}

func (r *rolesTask) run(ctx context.Context, c *console.Console) error {
	ctx, stop := console.UntilReaderGone(ctx, c.Out.File)
	defer stop()
	if r.needs[0].Connection.HasMultipleContexts() {
		return r.runEach(ctx, c)
	}
	return run.AtCluster(ctx, c, r.needs[0].Connection, 0, true, func(ctx context.Context, k *cluster.Cluster) error {
		objects, err := r.find(ctx, c, k)
		if err != nil {
			return err
		}
		return r.print(c.Out, objects)
	})
}

func (r *rolesTask) find(ctx context.Context, c *console.Console, k *cluster.Cluster) ([]any, error) {
	self, as, err := k.WithoutImpersonation()
	if err != nil {
		return nil, err
	}
	var needs []access.Permission
	var to rbacv1.Subject
	for i, of := range r.needs {
		s, err := run.OpenSession(ctx, c, self, of.Selection)
		if err == nil && i == 0 {
			to, err = s.Rights.ResolveSubject(ctx, as)
		}
		if err != nil {
			return nil, err
		}
		needs = access.AddPermissions(needs, s.Permissions(of)...)
	}
	return access.BuildRoles(needs, to), nil
}

// runEach prints the roles for several clusters, once where they are the same, and names the clusters.
func (r *rolesTask) runEach(ctx context.Context, c *console.Console) error {
	members, err := r.needs[0].Connection.SelectedContexts(isPlaced(r.needs))
	if err != nil {
		return err
	}
	all := run.AtEachCluster(ctx, c, members, func(ctx context.Context, c *console.Console, k *cluster.Cluster) (string, error) {
		var text strings.Builder
		objects, err := r.find(ctx, c, k)
		if err == nil {
			err = r.print(&text, objects)
		}
		return text.String(), err
	})
	if ctx.Err() != nil {
		return run.EndOf(ctx, ctx.Err(), true)
	}
	if !run.TolerateMissingResource(c, all) {
		return run.ErrorsOf(all)
	}
	return cmp.Or(r.printEach(c, all), run.ErrorsOf(all))
}

func (r *rolesTask) printEach(c *console.Console, all []run.ClusterResult[string]) error {
	var texts []string
	of := map[string][]string{}
	for _, o := range all {
		if o.Value == "" {
			continue
		}
		if of[o.Value] == nil {
			texts = append(texts, o.Value)
		}
		of[o.Value] = append(of[o.Value], output.EscapeLine(o.Cluster))
	}
	for i, text := range texts {
		names := strings.Join(of[text], ", ")
		switch {
		case r.format != "yaml":
			c.Say("for " + names)
		case i > 0:
			text = "---\n# for " + names + "\n" + text
		default:
			text = "# for " + names + "\n" + text
		}
		if _, err := io.WriteString(c.Out, text); err != nil {
			return err
		}
	}
	return nil
}

// print writes YAML documents, or with the format json one List.
func (r *rolesTask) print(w io.Writer, objects []any) error {
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
