package cli

import (
	"os"

	"github.com/spf13/cobra"
)

// Commands returns all commands with all flags, for documentation. A run builds only the flags of its own command.
func Commands() *cobra.Command {
	var names []string
	for _, d := range commands {
		names = append(names, d.name)
	}
	return newRoot("dwatch", names, Streams{Err: os.Stderr})
}
