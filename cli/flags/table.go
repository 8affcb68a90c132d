package flags

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"dwatch/output"
)

// Columns are what tables show beside the server's columns.
func Columns(t *output.TableOptions) Adder {
	return func(f *pflag.FlagSet) {
		f.BoolVar(&t.ShowLabels, "show-labels", false, "Of tables, show all labels in a last column")
		f.StringSliceVarP(&t.Labels, "label-columns", "L", nil, "Of tables, show each of these `LABELS` in a column (repeatable, commas)")
		takes(f, "label-columns", func(text string) (err error) {
			if slices.ContainsFunc(t.Labels, func(name string) bool { return strings.TrimSpace(name) == "" }) {
				err = errors.New("it takes names of labels")
			}
			return invalid("label-columns", text, err)
		})
		notEmpty(f, "label-columns")
	}
}

// SortBy is by what a list is sorted; nil if the flag is not given.
func SortBy(to **output.Order) Adder {
	return func(f *pflag.FlagSet) {
		f.String("sort-by", "", "Sort by the value at `PATH`, a JSONPath such as .metadata.creationTimestamp")
		takes(f, "sort-by", func(text string) (err error) {
			*to, err = output.ParseOrder(text)
			return invalid("sort-by", text, err)
		})
		notEmpty(f, "sort-by")
	}
}
