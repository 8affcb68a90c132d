package flags

import (
	"fmt"

	"github.com/spf13/pflag"
)

// kubectlFlags are flags of kubectl get, events and wait that dwatch does not have, and
// what to do instead.
var kubectlFlags = map[string]string{
	"all":                 "without a name it selects all objects: leave it out",
	"chunk-size":          "it chooses the page size itself: leave it out",
	"filename":            `it takes names, which kubectl finds in files: dwatch $(kubectl get -f FILE -o name)`,
	"kustomize":           `it takes names, which kubectl finds in files: dwatch $(kubectl get -k DIR -o name)`,
	"output-watch-events": "each event that it prints has a type: leave it out",
	"raw":                 "it watches resources; for anything else there is kubectl get --raw",
	"recursive":           `it takes names, which kubectl finds in files: dwatch $(kubectl get -R -f DIR -o name)`,
	"server-print":        "its tables are always the server's: leave it out",
	"subresource":         "a subresource can't be watched; watch the object, which shows its changes",
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
