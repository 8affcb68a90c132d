package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"dwatch/cli/cluster"
	"dwatch/cli/console"
	"dwatch/cli/fail"
	"dwatch/cli/lookup"
	"dwatch/mapper"
	"dwatch/output"
)

// errFirstSteps ends a command line without resources at a terminal, after dwatch has printed suggestions. It is a usage error: a script
// may have an empty variable there. It is not printed.
var errFirstSteps = errors.New("no resource given")

// firstSteps is the text for a user who has typed only the name of the program at a terminal. It suggests command lines with names of
// the cluster.
type firstSteps struct {
	display    string // the name of the program
	place      string // the cluster, or why it was not reached
	deployment string
	elsewhere  string // -n NAMESPACE if the deployment is in another namespace, or ""
	custom     string // a custom resource, or "" if the cluster has none
}

func printFirstSteps(ctx context.Context, w io.Writer, display string, connection *cluster.Flags) error {
	console.SetClientLog(io.Discard, 0)
	steps := firstSteps{display: display, deployment: "web", custom: "crontabs"}
	if err := steps.fill(ctx, connection); err != nil {
		steps.place = "No cluster was reached (" + fail.Explain(err)[0] + "), so these names are examples."
	}
	if _, err := io.WriteString(w, steps.text()); err != nil {
		return err
	}
	return fail.WithExitCode(fail.ExitUsage, errFirstSteps)
}

func (f *firstSteps) fill(ctx context.Context, connection *cluster.Flags) error {
	k, err := connection.Connect(cluster.Options{})
	if err != nil {
		return err
	}
	d, err := k.NewDiscoveryClient()
	if err != nil {
		return err
	}
	client, err := lookup.New(k, mapper.New(d))
	if err != nil {
		return err
	}
	examples, err := client.Examples(ctx, k.Namespace)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s does not answer within three seconds", k.Host)
	case err != nil:
		return fail.FromServer(k.Host, err)
	}
	f.place = fmt.Sprintf("This is %s, namespace %s; use -n for another, -A for all.", k.Host, k.Namespace)
	if examples.Deployment != "" {
		f.deployment = output.EscapeLine(examples.Deployment)
	}
	if examples.DeploymentNamespace != "" {
		f.elsewhere = " -n " + output.EscapeLine(examples.DeploymentNamespace)
	}
	f.custom = output.EscapeLine(examples.CustomResource)
	return nil
}

// text returns the text, which fits the smallest terminal.
func (f *firstSteps) text() string {
	one := "deploy/" + f.deployment + f.elsewhere
	steps := [][2]string{
		{"deploy,rs,po", "changes, and the program that made each"},
		{one, "changes of one object"},
		{f.custom, "changes of a custom resource"},
		{"live deploy,rs,po", "a table that updates in place"},
		{"serve deploy,rs,po --open", "the same in a browser"},
		{"events --for " + one, "Events about it"},
		{"wait " + one, "end when it is ready or has failed"},
	}
	steps = slices.DeleteFunc(steps, func(s [2]string) bool { return s[0] == "" })
	var b strings.Builder
	fmt.Fprintf(&b, "%s shows the changes in a cluster. %s\n\n", f.display, f.place)
	width := 0
	for _, s := range steps {
		width = max(width, len(s[0]))
	}
	for _, s := range steps {
		fmt.Fprintf(&b, "  %s %-*s  %s\n", f.display, width, s[0], s[1])
	}
	fmt.Fprintf(&b, "\nIn a pipe, each change is a line of JSON. More tasks and all commands: %s help\n", f.display)
	return b.String()
}
