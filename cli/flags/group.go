package flags

import (
	"slices"

	"github.com/spf13/pflag"
)

// Group is flags that belong together, under one heading in help.
type Group struct {
	Title string
	Flags *pflag.FlagSet
}

// Adder adds flags to a set.
type Adder = func(*pflag.FlagSet)

// NewGroup returns the flags that define adds, in that order.
func NewGroup(title string, define ...Adder) Group {
	f := pflag.NewFlagSet(title, pflag.ContinueOnError)
	f.SortFlags = false
	for _, d := range define {
		d(f)
	}
	takeOnce(f)
	return Group{title, f}
}

// given reports which of names is given first; empty if none is.
func given(f *pflag.FlagSet, names ...string) string {
	if i := slices.IndexFunc(names, f.Changed); i >= 0 {
		return names[i]
	}
	return ""
}
