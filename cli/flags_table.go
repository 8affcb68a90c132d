package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/output"
	"dwatch/watcher/event"
)

// tableFlags are for formats that have rows of the server.
type tableFlags struct {
	showKind     bool
	showLabels   bool
	labelColumns []string
	sortBy       string
}

func (o *options) addTableFlags(f *pflag.FlagSet) {
	t := &o.tableFlags
	f.BoolVar(&t.showKind, "show-kind", false, "With -o table or wide, show the kind with each name, as of several resources")
	f.BoolVar(&t.showLabels, "show-labels", false, "With -o table or wide, show all labels in a last column")
	f.StringSliceVarP(&t.labelColumns, "label-columns", "L", nil, "With -o table or wide, show each of these `LABELS` in a column (repeatable, commas)")
	f.StringVar(&t.sortBy, "sort-by", "", "With --list, sort by the value at `PATH`, a JSONPath such as .metadata.creationTimestamp")
	notEmpty(f, "label-columns", "sort-by")
}

// isTable reports whether a format shows rows that the server makes.
func isTable(format string) bool { return format == "table" || format == "wide" }

// checkTable finds flags that do not go with tables, or only with them.
func (o *options) checkTable() error {
	if !isTable(o.output) {
		for _, name := range []string{"show-kind", "show-labels", "label-columns"} {
			if o.given(name) {
				return fmt.Errorf("--%s is for -o table and wide", name)
			}
		}
	} else {
		for _, name := range []string{"old", "changes", "patch", "mask", "mask-secrets"} {
			if o.given(name) {
				return fmt.Errorf("-o %s shows what the server puts into a table: it does not go with --%s", o.output, name)
			}
		}
	}
	if o.given("sort-by") && !o.list {
		return errors.New("--sort-by sorts what --list prints: events come in their own order")
	}
	return nil
}

func (o *options) parseTable(p *output.Options) (err error) {
	p.Table.Kinds = o.showKind
	p.Table.Labels, p.Table.ShowLabels = o.labelColumns, o.showLabels
	if slices.ContainsFunc(o.labelColumns, func(name string) bool { return strings.TrimSpace(name) == "" }) {
		return fmt.Errorf("invalid --label-columns %q: it takes names of labels", strings.Join(o.labelColumns, ","))
	}
	if o.sortBy == "" {
		return nil
	}
	if p.Order, err = output.ParseOrder(o.sortBy); err != nil {
		return fmt.Errorf("invalid --sort-by %q: %w", o.sortBy, err)
	}
	return nil
}

// fillTable says what a table needs to show of the targets beside their columns.
func (j *job) fillTable(targets []event.Target, live bool) {
	t := &j.print.Table
	t.Namespaces = j.allNamespaces || len(j.namespaces) > 1
	t.Kinds = t.Kinds || severalKinds(targets) || live
	if !j.list {
		return
	}
	namespaced := false
	t.Unscoped = map[schema.GroupVersionKind]bool{}
	for _, target := range targets {
		if namespaced = namespaced || target.Namespaced(); namespaced {
			t.Unscoped[target.Mapping.GroupVersionKind] = true
		}
	}
}

// severalKinds reports whether the targets are of more than one kind.
func severalKinds(targets []event.Target) bool {
	kinds := map[schema.GroupVersionKind]bool{}
	for _, t := range targets {
		kinds[t.Mapping.GroupVersionKind] = true
	}
	return len(kinds) > 1
}

// nothingFound says that a table has no row, as kubectl does.
func (j *job) nothingFound(targets []event.Target) string {
	if j.allNamespaces || !slices.ContainsFunc(targets, event.Target.Namespaced) {
		return "No resources found"
	}
	namespaces := j.namespaces
	if len(namespaces) == 0 {
		namespaces = []string{j.Namespace}
	}
	return "No resources found in " + strings.Join(namespaces, ", ") + " namespace."
}
