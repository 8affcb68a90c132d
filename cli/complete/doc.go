// Package complete completes a command line of dwatch: it answers a shell that
// asks, and writes the scripts with which shells do.
package complete
