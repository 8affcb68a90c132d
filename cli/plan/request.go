package plan

import (
	"context"

	"dwatch/mapper"
)

// Request is what the command line asks for.
type Request struct {
	// Arguments are what to watch; at least one.
	Arguments []mapper.Argument
	// Exclude names resources to leave out.
	Exclude []string
	// Namespaces are where to watch; empty: in Home.
	Namespaces []string
	// AllNamespaces: everywhere, whatever Namespaces says.
	AllNamespaces bool
	// Home is the namespace of the kubeconfig's context.
	Home string
	// LabelSelector and FieldSelector narrow what is selected; empty means all.
	LabelSelector, FieldSelector string
	// Wait: a resource that the server does not have yet is no error.
	Wait bool
	// Awaited: something is waited for of each object that is named, and of all that
	// exist where none is. It can't be both of one resource.
	Awaited bool
	// Ask bounds the questions to the server of one plan; nil: nothing but their
	// context does.
	Ask func(context.Context) (context.Context, context.CancelFunc)
}

// Where returns the namespaces to watch in: one that is empty for all of them.
func (r Request) Where() []string {
	switch {
	case r.AllNamespaces:
		return []string{""}
	case len(r.Namespaces) == 0:
		return []string{r.Home}
	default:
		return r.Namespaces
	}
}
