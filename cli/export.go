package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/cli/fail"
	"dwatch/cli/flags"
	"dwatch/mapper"
	"dwatch/output"
	"dwatch/output/page"
	"dwatch/watcher/event"
)

// exportFlags are those of dwatch export: a recording as a page in one file.
type exportFlags struct {
	watchFlags
	played flags.Replay
	file   flags.Export
	noise  flags.Noise
	masks  flags.Masks
}

func (e *exportFlags) groups() []flags.Group {
	return []flags.Group{
		flags.NewGroup("What to show", e.targets.AddTo),
		flags.NewGroup("The past", e.played.From.AddTo, flags.SinceBefore("Show what happened since `TIME`, such as 2h or 02:00; by default all", "Show what happened before `TIME`")),
		flags.NewGroup("The file", e.file.AddTo, flags.Timeout(&e.w.ending.Timeout, "with exit code 4 and no file if it is not written by then")),
		flags.NewGroup("What changed", e.noise.AddTo, e.masks.AddTo, e.masks.AddShowSecrets(", if they were recorded: who opens the file reads them")),
	}
}

func (e *exportFlags) parse(args []string, _ terminal) (runner, error) {
	args, err := e.file.ParseArgs(args)
	if err := cmp.Or(err, e.played.Range.Parse(e.all), e.played.From.Check(e.all)); err != nil {
		return nil, err
	}
	if !e.played.From.IsSet() {
		return nil, errors.New("dwatch export writes what was recorded: it needs --from DIR")
	}
	r := &exported{w: &e.w, flags: e, all: !e.targets.HasResources(args)}
	if r.all {
		args = []string{mapper.AllResources} // until it is known what was recorded
	}
	if err := e.selectTargets(args); err != nil {
		return nil, err
	}
	e.noise.Apply(&e.w.print.Compare)
	if err := cmp.Or(checkFrom(e.all, e.server, e.w.selection), e.masks.Parse(&e.w.print, true)); err != nil {
		return nil, err
	}
	return r, r.checkFile()
}

// exported writes a recording into a file.
type exported struct {
	w     *watching
	flags *exportFlags
	all   bool // all that was recorded
}

// checkFile finds early that the file is there.
func (e *exported) checkFile() error {
	f := &e.flags.file
	if f.Path == "-" {
		return nil
	}
	switch info, err := os.Lstat(f.Path); {
	case err == nil && info.IsDir():
		return fmt.Errorf("%s is a directory", output.EscapeLine(f.Path))
	case err == nil && !f.Force:
		return errExists(f.Path)
	}
	return nil
}

func errExists(path string) error {
	return fmt.Errorf("%s is there already: --force overwrites it", output.EscapeLine(path))
}

func (e *exported) run(ctx context.Context, c *console) error {
	ctx, cancel := bounded(ctx, e.w.ending.Timeout)
	defer cancel()
	return unreadRecording(ended(ctx, e.export(ctx, c), true), "nothing was written")
}

func (e *exported) export(ctx context.Context, c *console) error {
	from, err := c.openRecording(ctx, e.flags.played.From, e.w.connection)
	if err != nil {
		return err
	}
	if e.all {
		if err := e.chooseAll(ctx, from); err != nil {
			return err
		}
	}
	if e.w.session, err = from.session(ctx, c, e.w.selection); err != nil {
		return err
	}
	target, err := create(&e.flags.file, c)
	if err != nil {
		return err
	}
	defer target.remove()
	tuneLong()
	found, rests, err := e.write(ctx, from, target)
	var tooLarge *page.TooLargeError
	switch {
	case errors.As(err, &tooLarge):
		return fmt.Errorf("%w, and the file may have %s (--max-size): name fewer resources, or a later --since", err, megabytes(e.flags.file.MaxSize))
	case err != nil:
		return err
	}
	if err := target.finish(e.flags.file.Force); err != nil {
		return err
	}
	e.report(c, found)
	return e.judge(c, cmp.Or(rests.prove(e.w.print.Timestamps, nil), from.unrecorded()))
}

// judge turns gaps into a warning: the file has been written and shows them. With --complete they remain an error.
func (e *exported) judge(c *console, gaps error) error {
	if gaps == nil || e.flags.file.Complete {
		return gaps
	}
	for _, line := range fail.Explain(gaps) {
		c.warn(fmt.Sprintf("warning: %s has gaps: %s; --complete makes that an error", e.fileName(), line))
	}
	return nil
}

// fileName names the file in messages.
func (e *exported) fileName() string {
	if e.flags.file.Path == "-" {
		return "the page"
	}
	return output.EscapeLine(e.flags.file.Path)
}

// chooseAll asks for all that was recorded, but for what is excluded: of each of several clusters for what was
// recorded there.
func (e *exported) chooseAll(ctx context.Context, from *recordingOf) error {
	request := &e.w.selection.request
	request.Arguments, e.w.selection.recorded = nil, from.isSeveral()
	for _, of := range from.parts {
		excluded := map[schema.GroupResource]bool{}
		for _, name := range request.Exclude {
			answer, err := mapper.NewFixed(of.Resources()).Resolve(ctx, name)
			if err != nil && !mapper.IsUnknown(err) {
				return err
			}
			for _, m := range answer.Mappings {
				excluded[m.Resource.GroupResource()] = true
			}
		}
		for _, one := range of.arguments() {
			if !excluded[schema.ParseGroupResource(one.Resource)] && !slices.Contains(request.Arguments, one) {
				request.Arguments = append(request.Arguments, one)
			}
		}
		if len(request.Namespaces) == 0 && of.LastRun().Selection.AllNamespaces {
			request.AllNamespaces = true
		}
	}
	if len(request.Arguments) == 0 {
		return fail.Usage(errors.New("nothing else was recorded: --exclude leaves nothing"))
	}
	return nil
}

// write makes the page, and returns what it has and what that rests on.
func (e *exported) write(ctx context.Context, from *recordingOf, to io.Writer) (found *page.ExportResult, all proofs, err error) {
	span := e.flags.played.Range
	part := &shownPart{from: from, since: span.Since, before: span.Before}
	o := (&served{utc: e.flags.messages.UTC}).shown(e.w)
	o.Cluster = "recording " + output.EscapeLine(path.Base(filepath.ToSlash(e.flags.played.From.String())))
	if from.isSeveral() {
		o.Clusters = from.members
	}
	o.Recording = &page.Recording{Replay: func(ctx context.Context, until time.Time, sink event.Sink) (page.Coverage, error) {
		known, p, err := part.prove(ctx, until, sink)
		if all == nil { // of all of it
			all = p
		}
		if err == nil {
			known.InitialTime = p.first(known)
		}
		return known, err
	}}
	found, err = page.Export(ctx, o, e.flags.file.MaxSize, to)
	return found, all, err
}

// report says what is in the file, and what is not.
func (e *exported) report(c *console, found *page.ExportResult) {
	exactly := func(t time.Time) string { return output.FormatTimeMillis(t, time.Now(), e.w.print.Timestamps) }
	c.say(fmt.Sprintf("%s has %s, %s to %s: %s", e.fileName(), megabytes(found.Bytes), exactly(found.From), exactly(found.To), plural(found.ChangeCount, "change")))
	if t := found.Omitted.ChangesBefore; !t.IsZero() {
		c.warn(fmt.Sprintf("left out: what was before %s, for which there is no room in %s (--max-size)", exactly(t), megabytes(e.flags.file.MaxSize)))
	}
	if t := found.Omitted.ContentsBefore; !t.IsZero() {
		c.warn(fmt.Sprintf("left out: the YAML of objects as they were before %s, for which there is no room in %s (--max-size)", exactly(t), megabytes(e.flags.file.MaxSize)))
	}
	if n := found.Omitted.LeadUpCount; n > 0 {
		c.warn(fmt.Sprintf("left out: what led up to %s", plural(n, "failure")))
	}
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func megabytes(bytes int) string {
	return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(bytes)/1e6), ".0") + " MB"
}

// exportTarget is where a file is written: it is there whole, or as it was before.
type exportTarget struct {
	io.Writer
	file *os.File // nil: stdout
	path string
}

func create(f *flags.Export, c *console) (*exportTarget, error) {
	if f.Path == "-" {
		return &exportTarget{Writer: c.out}, nil
	}
	temp, err := os.CreateTemp(filepath.Dir(f.Path), "."+filepath.Base(f.Path)+".*")
	if err != nil {
		if inPath, ok := errors.AsType[*os.PathError](err); ok {
			err = inPath.Err
		}
		return nil, fail.Usage(fmt.Errorf("%s can't be written: %w", output.EscapeLine(f.Path), err))
	}
	return &exportTarget{temp, temp, f.Path}, nil
}

// finish puts the file where it belongs.
func (t *exportTarget) finish(force bool) error {
	if t.file == nil {
		return nil
	}
	if err := errors.Join(t.file.Sync(), t.file.Close()); err != nil {
		return err
	}
	if force {
		return os.Rename(t.file.Name(), t.path)
	}
	err := os.Link(t.file.Name(), t.path)
	switch {
	case errors.Is(err, fs.ErrExist): // it has come meanwhile
		return fail.Usage(errExists(t.path))
	case err != nil: // a file system without hard links
		return os.Rename(t.file.Name(), t.path)
	}
	return nil
}

func (t *exportTarget) remove() {
	if t.file != nil {
		t.file.Close()
		os.Remove(t.file.Name())
	}
}
