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
	"strings"
	"time"

	"dwatch/cli/console"
	"dwatch/cli/destination"
	"dwatch/cli/fail"
	"dwatch/cli/flags"
	"dwatch/cli/replay"
	"dwatch/cli/run"
	"dwatch/mapper"
	"dwatch/output"
	"dwatch/output/page"
	"dwatch/output/text"
	"dwatch/watcher/event"
)

// exportOptions are the flags of dwatch export: a recording as a page in one file.
type exportOptions struct {
	watchOptions
	played     flags.Replay
	file       flags.Export
	noise      flags.Noise
	masks      flags.Masks
	everything bool // no resource is named
}

func (e *exportOptions) groups() []flags.Group {
	return []flags.Group{
		flags.NewGroup("What to show", e.targets.AddTo),
		flags.NewGroup("The past", e.played.From.AddTo, flags.SinceBefore("Export the recording from `TIME`, such as 2h or 02:00; by default from its start", "Export the recording until `TIME`; by default until its end")),
		flags.NewGroup("File", e.file.AddTo, flags.Timeout(&e.cfg.Ending.Timeout, "with exit code 4 and no file if the file is not complete")),
		flags.NewGroup("Changes", e.noise.AddTo, e.masks.AddTo, e.masks.AddShowSecrets(", if they were recorded: everyone who opens the file can read them")),
	}
}

func (e *exportOptions) complete(args []string, _ console.Terminal) error {
	args, err := e.file.ParseArgs(args)
	if err := cmp.Or(err, e.played.Range.Parse(e.all), e.played.From.Check(e.all)); err != nil {
		return err
	}
	if !e.played.From.IsSet() {
		return errors.New("dwatch export reads a recording: it needs --from DIR")
	}
	if e.everything = !e.targets.HasResources(args); e.everything {
		args = []string{mapper.AllResources} // replaced by the recorded resources later
	}
	if err := e.selectTargets(args); err != nil {
		return err
	}
	e.noise.Apply(&e.cfg.Print.Compare)
	return nil
}

func (e *exportOptions) validate() error {
	if err := cmp.Or(replay.CheckFlags(e.all, e.server, e.cfg.Selection), e.masks.Parse(&e.cfg.Print, true)); err != nil {
		return err
	}
	return e.checkFile()
}

// checkFile returns an error if the file exists, before the recording is read.
func (e *exportOptions) checkFile() error {
	if e.file.Path == "-" {
		return nil
	}
	switch info, err := os.Lstat(e.file.Path); {
	case err == nil && info.IsDir():
		return fmt.Errorf("%s is a directory", output.EscapeLine(e.file.Path))
	case err == nil && !e.file.Force:
		return errFileExists(e.file.Path)
	}
	return nil
}

func errFileExists(path string) error {
	return fmt.Errorf("%s already exists: use --force to overwrite it", output.EscapeLine(path))
}

func (e *exportOptions) task() task {
	return &exportTask{cfg: e.cfg, from: e.played, file: e.file, everything: e.everything, utc: e.messages.UTC}
}

// exportTask writes a recording into a file.
type exportTask struct {
	cfg        run.Config
	from       flags.Replay
	file       flags.Export
	everything bool
	utc        bool
}

// judgesStates implements judgingTask.
func (e *exportTask) judgesStates() bool { return true }

func (e *exportTask) run(ctx context.Context, c *console.Console) error {
	ctx, cancel := run.WithTimeout(ctx, e.cfg.Ending.Timeout)
	defer cancel()
	return replay.ExplainTimeout(run.EndOf(ctx, e.export(ctx, c), true), "nothing was written")
}

func (e *exportTask) export(ctx context.Context, c *console.Console) error {
	from, err := replay.Open(ctx, c, e.from.From, e.cfg.Connection)
	if err != nil {
		return err
	}
	of := e.cfg.Selection
	if e.everything {
		if of, err = from.SelectAll(ctx, of); err != nil {
			return err
		}
	}
	session, err := from.Session(ctx, c, of)
	if err != nil {
		return err
	}
	target, err := createExport(&e.file, c)
	if err != nil {
		return err
	}
	defer target.remove()
	run.TuneLong()
	scope := from.Scope(session, time.Now)
	found, proofs, err := e.write(ctx, from, scope, target)
	var tooLarge *page.TooLargeError
	switch {
	case errors.As(err, &tooLarge):
		return fmt.Errorf("%w, but --max-size is %s: select fewer resources or a later --since", err, megabytes(e.file.MaxSize))
	case err != nil:
		return err
	}
	if err := target.finish(e.file.Force); err != nil {
		return err
	}
	e.report(c, found)
	return e.reportGaps(c, cmp.Or(proofs.Report(e.cfg.Print.Timestamps, nil), from.CheckRecorded()))
}

// reportGaps turns gaps into a warning: the file has been written and shows them. With --complete they remain an error.
func (e *exportTask) reportGaps(c *console.Console, gaps error) error {
	if gaps == nil || e.file.Complete {
		return gaps
	}
	for _, line := range fail.Explain(gaps) {
		c.Warn(fmt.Sprintf("warning: %s has gaps: %s; --complete makes that an error", e.fileName(), line))
	}
	return nil
}

// fileName names the file in messages.
func (e *exportTask) fileName() string {
	if e.file.Path == "-" {
		return "the page"
	}
	return output.EscapeLine(e.file.Path)
}

// write writes the page, and returns its content and the proofs for it.
func (e *exportTask) write(ctx context.Context, from *replay.Recording, scope *run.Scope, to io.Writer) (found *page.ExportResult, all replay.Proofs, err error) {
	shown := replay.Range{Recording: from, Since: e.from.Range.Since, Before: e.from.Range.Before}
	o := destination.PageOptions(&e.cfg, scope, e.utc)
	o.Cluster = "recording " + output.EscapeLine(path.Base(filepath.ToSlash(e.from.From.String())))
	o.Recording = &page.Recording{Replay: func(ctx context.Context, until time.Time, sink event.Sink) (page.Coverage, error) {
		known, proofs, err := shown.Prove(ctx, until, sink)
		if all == nil { // the first call replays everything
			all = proofs
		}
		if err == nil {
			known.InitialTime = proofs.First(known)
		}
		return known, err
	}}
	found, err = page.Export(ctx, o, e.file.MaxSize, to)
	return found, all, err
}

// report prints the content of the file, and the parts that were left out.
func (e *exportTask) report(c *console.Console, found *page.ExportResult) {
	exactly := func(t time.Time) string { return output.FormatTimeMillis(t, time.Now(), e.cfg.Print.Timestamps) }
	c.Say(fmt.Sprintf("%s has %s, %s to %s: %s", e.fileName(), megabytes(found.Bytes), exactly(found.From), exactly(found.To), text.Count(found.ChangeCount, "change")))
	if t := found.Omitted.ChangesBefore; !t.IsZero() {
		c.Warn(fmt.Sprintf("left out data from before %s, as the file may have %s (--max-size)", exactly(t), megabytes(e.file.MaxSize)))
	}
	if t := found.Omitted.ContentsBefore; !t.IsZero() {
		c.Warn(fmt.Sprintf("left out the YAML of objects from before %s, as the file may have %s (--max-size)", exactly(t), megabytes(e.file.MaxSize)))
	}
	if n := found.Omitted.LeadUpCount; n > 0 {
		c.Warn(fmt.Sprintf("left out the events that led up to %s", text.Count(n, "failure")))
	}
}

func megabytes(bytes int) string {
	return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(bytes)/1e6), ".0") + " MB"
}

// exportFile is a file that appears complete or not at all.
type exportFile struct {
	io.Writer
	file *os.File // nil for stdout
	path string
}

func createExport(f *flags.Export, c *console.Console) (*exportFile, error) {
	if f.Path == "-" {
		return &exportFile{Writer: c.Out}, nil
	}
	temp, err := os.CreateTemp(filepath.Dir(f.Path), "."+filepath.Base(f.Path)+".*")
	if err != nil {
		if inPath, ok := errors.AsType[*os.PathError](err); ok {
			err = inPath.Err
		}
		return nil, fail.Usage(fmt.Errorf("%s can't be written: %w", output.EscapeLine(f.Path), err))
	}
	return &exportFile{temp, temp, f.Path}, nil
}

// finish gives the file its name.
func (e *exportFile) finish(force bool) error {
	if e.file == nil {
		return nil
	}
	if err := errors.Join(e.file.Sync(), e.file.Close()); err != nil {
		return err
	}
	if force {
		return os.Rename(e.file.Name(), e.path)
	}
	err := os.Link(e.file.Name(), e.path)
	switch {
	case errors.Is(err, fs.ErrExist): // another program has created it
		return fail.Usage(errFileExists(e.path))
	case err != nil: // the file system has no hard links
		return os.Rename(e.file.Name(), e.path)
	}
	return nil
}

// remove removes the temporary file.
func (e *exportFile) remove() {
	if e.file != nil {
		e.file.Close()
		os.Remove(e.file.Name())
	}
}
