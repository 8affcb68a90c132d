package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"golang.org/x/term"
)

// table is what the demo pipes the stream into.
const table = `jq -r '[.type, .object.kind, .object.metadata.name,
    .object.spec.image // .object.spec.template.spec.containers[0].image,
    .object.spec.replicas // .object.metadata.labels.team,
    .object.status.updatedReplicas // .object.status.lastResult] | @tsv' | expand -t 12`

// screen is where the demo is shown.
type screen struct {
	out   *os.File
	width int
}

// newScreen takes the width from $COLUMNS or from the terminal; elsewhere, too,
// lines have to be legible.
func newScreen(out *os.File) *screen {
	if columns, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && columns > 0 {
		return &screen{out, columns}
	}
	if columns, _, err := term.GetSize(int(out.Fd())); err == nil && columns > 0 {
		return &screen{out, columns}
	}
	return &screen{out, 140}
}

// say tells what is done, as a comment.
func (s *screen) say(format string, args ...any) {
	fmt.Fprintf(s.out, "\n# "+format+"\n", args...)
}

func (s *screen) command(line string) { fmt.Fprintln(s.out, "$ "+line) }

// line shows a line of dwatch. Of a long one it leaves out the middle: its
// beginning says of what the event is, its end may say what has changed.
func (s *screen) line(line []byte) {
	const gap = " ... "
	text := []rune(strings.TrimSuffix(string(line), "\n"))
	if room := max(0, s.width-len(gap)); len(text) > s.width {
		end := room * 3 / 10
		fmt.Fprintln(s.out, string(text[:room-end])+gap+string(text[len(text)-end:]))
		return
	}
	fmt.Fprintln(s.out, string(text))
}

// summary shows the same stream as a table.
func (s *screen) summary(ctx context.Context, stream []byte) error {
	if _, err := exec.LookPath("jq"); err != nil {
		s.say("jq is not installed: it would show the same stream as a table here")
		return nil
	}
	s.say("the same stream through jq")
	s.command("dwatch " + strings.Join(arguments, " ") + " | " + table)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", table)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(stream), s.out, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("jq: %w", err)
	}
	return nil
}
