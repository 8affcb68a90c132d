package flags

import (
	"fmt"

	"github.com/spf13/pflag"
)

// kubectlFlags maps flags of kubectl get, events and wait that dwatch does not have to advice for the user.
var kubectlFlags = map[string]string{
	"all":                 "without names it selects all objects, so leave the flag out",
	"chunk-size":          "it chooses the page size itself, so leave the flag out",
	"filename":            `it takes names, which kubectl finds in files: dwatch $(kubectl get -f FILE -o name)`,
	"kustomize":           `it takes names, which kubectl finds in files: dwatch $(kubectl get -k DIR -o name)`,
	"output-watch-events": "it always prints the type of each event, so leave the flag out",
	"raw":                 "it watches resources; for other paths, use kubectl get --raw",
	"recursive":           `it takes names, which kubectl finds in files: dwatch $(kubectl get -R -f DIR -o name)`,
	"server-print":        "its tables always come from the server, so leave the flag out",
	"subresource":         "a subresource can't be watched; watch the object, which shows its changes",
}

// kubectlShorthands maps the shorthands of kubectlFlags to their names.
var kubectlShorthands = map[string]string{"f": "filename", "k": "kustomize", "R": "recursive"}

// KubectlFlagError returns an error that says what to do instead of using a flag that only kubectl has. It
// returns nil for any other flag.
func KubectlFlagError(unknown *pflag.NotExistError) error {
	name, typed := unknown.GetSpecifiedName(), "--"+unknown.GetSpecifiedName()
	if unknown.GetSpecifiedShortnames() != "" {
		name, typed = kubectlShorthands[name], "-"+name
	}
	instead, known := kubectlFlags[name]
	if !known {
		return nil
	}
	return fmt.Errorf("dwatch does not have %s: %s", typed, instead)
}
