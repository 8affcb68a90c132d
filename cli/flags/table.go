package flags

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"dwatch/output"
)

// Table are the flags of tables.
type Table struct {
	showKind   bool
	showLabels bool
	labels     []string
}

// AddTo adds the flags for columns to f.
func (t *Table) AddTo(f *pflag.FlagSet) {
	f.BoolVar(&t.showLabels, "show-labels", false, "Of tables, show all labels in a last column")
	f.StringSliceVarP(&t.labels, "label-columns", "L", nil, "Of tables, show each of these `LABELS` in a column (repeatable, commas)")
	notEmpty(f, "label-columns")
}

// AddKindTo adds the flag for names with kinds.
func (t *Table) AddKindTo(f *pflag.FlagSet) {
	f.BoolVar(&t.showKind, "show-kind", false, "Of tables, show the kind with each name, as of several resources")
}

// Parse returns how tables are printed.
func (t *Table) Parse() (output.TableOptions, error) {
	o := output.TableOptions{Kinds: t.showKind, Labels: t.labels, ShowLabels: t.showLabels}
	if slices.ContainsFunc(t.labels, func(name string) bool { return strings.TrimSpace(name) == "" }) {
		return o, fmt.Errorf("invalid --label-columns %q: it takes names of labels", strings.Join(t.labels, ","))
	}
	return o, nil
}

// Order says by what a list is sorted.
type Order struct{ by string }

// AddTo adds the flag to f.
func (o *Order) AddTo(f *pflag.FlagSet) {
	f.StringVar(&o.by, "sort-by", "", "Sort by the value at `PATH`, a JSONPath such as .metadata.creationTimestamp")
	notEmpty(f, "sort-by")
}

// Parse returns the order; nil if none is given.
func (o *Order) Parse() (*output.Order, error) {
	if o.by == "" {
		return nil, nil
	}
	order, err := output.ParseOrder(o.by)
	if err != nil {
		return nil, fmt.Errorf("invalid --sort-by %q: %w", o.by, err)
	}
	return order, nil
}
