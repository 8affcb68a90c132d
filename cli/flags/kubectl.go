package flags

import (
	"fmt"

	"github.com/spf13/pflag"
)

// kubectlFlags are flags of kubectl get, events and wait that dwatch does not have, and
// what to do instead.
var kubectlFlags = map[string]string{
	"all":                 "without a name it takes all that there are: leave it out",
	"chunk-size":          "it asks for pages of a size of its own: leave it out",
	"filename":            `it takes names, which kubectl finds in files: dwatch $(kubectl get -f FILE -o name)`,
	"kustomize":           `it takes names, which kubectl finds in files: dwatch $(kubectl get -k DIR -o name)`,
	"output-watch-events": "it prints events, and each says what happened: leave it out",
	"raw":                 "it watches resources; for anything else there is kubectl get --raw",
	"recursive":           `it takes names, which kubectl finds in files: dwatch $(kubectl get -R -f DIR -o name)`,
	"server-print":        "its tables are always the server's: leave it out",
	"subresource":         "a subresource can't be watched; what it changes is seen in the object",
}

// kubectlShorthands are those of kubectlFlags.
var kubectlShorthands = map[string]string{"f": "filename", "k": "kustomize", "R": "recursive"}

// Kubectls says what to do instead of a flag that kubectl has, and dwatch has not; nil if
// it is none.
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
