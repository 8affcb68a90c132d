package main

import (
	"bytes"
	"fmt"
	"os/exec"
	"slices"
	"strings"
)

// beforeName replaces "dwatch" in the names of contenders that run the binary of -before.
const beforeName = "before"

// before returns the contender of the older dwatch that corresponds to a contender of dwatch.
func before(name string) string { return strings.Replace(name, "dwatch", beforeName, 1) }

// version is a dwatch binary to measure: the current one or the one of -before.
type version struct {
	dialect
	named func(string) string // returns the name of a contender in this version
}

// versionsOf returns the current dwatch, and the older one if there is one.
func versionsOf(o options) ([]version, error) {
	versions := []version{{named: func(name string) string { return name }}, {named: before}}
	for i, path := range []string{o.dwatch, o.before} {
		if path == "" {
			return versions[:i], nil
		}
		var err error
		if versions[i].dialect, err = dialectOf(path); err != nil {
			return nil, err
		}
	}
	return versions, nil
}

// dialect builds command lines for a dwatch binary. The binary of -before may have flags instead of the commands.
type dialect struct {
	path     string
	commands bool
}

// dialectOf finds out whether a dwatch binary has commands.
func dialectOf(path string) (dialect, error) {
	help, err := exec.Command(path, "--help").Output()
	if err != nil {
		return dialect{}, fmt.Errorf("%s --help: %w", path, err)
	}
	return dialect{path, bytes.Contains(help, []byte("\n  serve "))}, nil
}

// stream returns the command line that prints events.
func (d dialect) stream(args ...string) []string { return slices.Concat([]string{d.path}, args) }

// list returns the command line that prints existing objects and exits.
func (d dialect) list(args ...string) []string { return d.command("list", args, "--list") }

// serve returns the command line that serves a page and prints nothing.
func (d dialect) serve(args ...string) []string {
	return d.command("serve", args, "-o", "none", "--serve")
}

// send returns the command line that delivers events to the receiver in args.
func (d dialect) send(args ...string) []string { return d.command("send", args) }

func (d dialect) command(name string, args []string, flags ...string) []string {
	if d.commands {
		return slices.Concat([]string{d.path, name}, args)
	}
	return slices.Concat([]string{d.path}, args, flags)
}
