package main

import (
	"bytes"
	"fmt"
	"os/exec"
	"slices"
	"strings"
)

// beforeName stands for dwatch in the names of what is measured of -before.
const beforeName = "before"

// before is the contender that one of dwatch's is compared with.
func before(name string) string { return strings.Replace(name, "dwatch", beforeName, 1) }

// version is a dwatch that is measured, or the one before it.
type version struct {
	dialect
	named func(string) string // of its contenders, from the names of dwatch's
}

// versionsOf returns dwatch, and the one before it if there is one.
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

// dialect is how a dwatch is told what to do: one that is older than its commands, as that
// of -before may be, has flags for it.
type dialect struct {
	path     string
	commands bool
}

// dialectOf asks a dwatch.
func dialectOf(path string) (dialect, error) {
	help, err := exec.Command(path, "--help").Output()
	if err != nil {
		return dialect{}, fmt.Errorf("%s --help: %w", path, err)
	}
	return dialect{path, bytes.Contains(help, []byte("\n  serve "))}, nil
}

// stream prints events.
func (d dialect) stream(args ...string) []string { return slices.Concat([]string{d.path}, args) }

// list prints what exists, and ends.
func (d dialect) list(args ...string) []string { return d.command("list", args, "--list") }

// serve serves a page, and prints nothing.
func (d dialect) serve(args ...string) []string {
	return d.command("serve", args, "-o", "none", "--serve")
}

// send delivers events, by the flags that say where to.
func (d dialect) send(args ...string) []string { return d.command("send", args) }

func (d dialect) command(name string, args []string, flags ...string) []string {
	if d.commands {
		return slices.Concat([]string{d.path, name}, args)
	}
	return slices.Concat([]string{d.path}, args, flags)
}
