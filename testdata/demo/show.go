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

// filter is what the demo pipes the JSON into. The controllers change more than is
// left here: uniq takes that out.
const filter = `jq -r '[.type, .object.kind, .object.metadata.name,
    .object.spec.image // .object.spec.template.spec.containers[0].image,
    .object.spec.schedule // .object.spec.replicas] | @tsv' | uniq | expand -t 12`

// screen is where the demo is shown.
type screen struct {
	out      *os.File
	terminal bool
}

func newScreen(out *os.File) *screen { return &screen{out, term.IsTerminal(int(out.Fd()))} }

// pace is how long a change is shown before the next: only a person has to see it, but the dwatch whose lines
// these are has to have written them.
func (s *screen) pace() time.Duration {
	if s.terminal {
		return pace
	}
	return pace / 2
}

// say says what is done, as a comment.
func (s *screen) say(text string) { fmt.Fprintln(s.out, "\n# "+text) }

func (s *screen) command(line string) { fmt.Fprintln(s.out, "$ "+line) }

// summary shows what a program gets of the same changes.
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
