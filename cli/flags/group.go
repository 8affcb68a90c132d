package flags

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// Group is flags that belong together, under one heading in help.
type Group struct {
	Title string
	Flags *pflag.FlagSet
}

// NewGroup returns the flags that define adds, in that order.
func NewGroup(title string, define ...func(*pflag.FlagSet)) Group {
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

// notEmpty makes flags refuse an empty value.
func notEmpty(f *pflag.FlagSet, names ...string) {
	for _, name := range names {
		flag := f.Lookup(name)
		flag.Value = filled{flag.Value}
		flag.DefValue = strings.Trim(flag.DefValue, "[]") // or help would show it
	}
}
