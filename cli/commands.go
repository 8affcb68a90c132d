package cli

import (
	"os"

	"github.com/spf13/cobra"
)

// Commands returns the commands with all their flags, for who describes them: a program
// that runs them needs only those that it is asked for.
func Commands() *cobra.Command {
	var names []string
	for _, d := range commands {
		names = append(names, d.name)
	}
	return newRoot("dwatch", names, Streams{Err: os.Stderr})
}
