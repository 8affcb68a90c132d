package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/term"
)

// filter is the pipeline that reads the JSON in the demo. The controllers also change other fields, which leads to
// equal lines: uniq removes them.
const filter = `jq -r '[.type, .object.kind, .object.metadata.name,
    .object.spec.image // .object.spec.template.spec.containers[0].image,
    .object.spec.schedule // .object.spec.replicas] | @tsv' | uniq | expand -t 12`

// screen is where the demo prints.
type screen struct {
	out      *os.File
	terminal bool
}

func newScreen(out *os.File) *screen { return &screen{out, term.IsTerminal(int(out.Fd()))} }

// pace returns the time from one change to the next. It is shorter if the output is not a terminal, but long enough
// for the shown dwatch to write its lines.
func (s *screen) pace() time.Duration {
	if s.terminal {
		return pace
	}
	return pace / 2
}

// say prints the next action as a shell comment.
func (s *screen) say(text string) { fmt.Fprintln(s.out, "\n# "+text) }

func (s *screen) command(line string) { fmt.Fprintln(s.out, "$ "+line) }

// summary shows the same changes as a program receives them.
func (s *screen) summary(ctx context.Context, stream []byte) error {
	if _, err := exec.LookPath("jq"); err != nil {
		s.say("jq is not installed: it would show here what programs get, which is JSON")
		return nil
	}
	s.say("programs get JSON, a line for each event; here through jq")
	s.command("dwatch " + strings.Join(streamArguments, " ") + " | " + filter)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", filter)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(stream), s.out, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("jq: %w", err)
	}
	return nil
}
