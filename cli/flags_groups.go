package cli

import (
	"strings"

	"github.com/spf13/pflag"
)

// flagGroup is flags that belong together, under one heading in help and in the
// README.
type flagGroup struct {
	title string
	flags *pflag.FlagSet
}

const (
	receiverGroup = "Where it goes"
	accessGroup   = "Webhook and NATS"
	messageGroup  = "Messages and help"

	connectionGroup = "Connection to the cluster"
)

// newFlagGroups returns all flags, which set o, in the order in which they are
// shown. A flag belongs to the group whose function defines it.
func (o *options) newFlagGroups() []flagGroup {
	var groups []flagGroup
	add := func(title string, define func(*pflag.FlagSet)) {
		f := pflag.NewFlagSet(title, pflag.ContinueOnError)
		f.SortFlags = false
		define(f)
		groups = append(groups, flagGroup{title, f})
	}
	add("What to watch", o.addTargetFlags)
	add("Which events", o.addEventFlags)
	add("How it looks", o.addOutputFlags)
	add("How it ends and carries on", o.addRunFlags)
	add("The page", o.addPageFlags)
	add(receiverGroup, o.addReceiverFlags)
	add(accessGroup, o.addAccessFlags)
	add(messageGroup, o.addMessageFlags)
	add(connectionGroup, o.addConnectionFlags)
	return groups
}

// addFlags adds all flags to f, and returns their groups.
func (o *options) addFlags(f *pflag.FlagSet) []flagGroup {
	f.SortFlags = false
	o.given, o.dash = f.Changed, f.ArgsLenAtDash
	groups := o.newFlagGroups()
	for _, g := range groups {
		takeOnce(g.flags)
		f.AddFlagSet(g.flags)
	}
	return groups
}

func (o *options) addConnectionFlags(f *pflag.FlagSet) {
	o.connection.UserAgent = userAgent()
	o.connection.AddFlags(f)
}

// notEmpty makes flags refuse an empty value.
func notEmpty(f *pflag.FlagSet, names ...string) {
	for _, name := range names {
		flag := f.Lookup(name)
		flag.Value = filled{flag.Value}
		flag.DefValue = strings.Trim(flag.DefValue, "[]") // or help would show it
	}
}
