package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"dwatch/cli/plan"
	"dwatch/cli/report"
	"dwatch/output"
	"dwatch/output/live"
	"dwatch/watcher/event"
	"dwatch/watcher/filter"
)

// pipeline is what the events of a run go through, from the reporter to the printer.
type pipeline struct {
	*job
	reporter *report.Reporter
	wait     *wait      // nil if no condition ends the run
	printed  func() int // how many events were
	printer  event.Sink
}

// newPipeline composes the stages, the last of which comes first here. failed is called
// when the file of --state, or of --dead-letters, can't be written or read.
func (j *job) newPipeline(ctx context.Context, what *plan.Plan, state *state, failed func(error)) (*pipeline, error) {
	printer, err := j.last(ctx, what, state, failed)
	if err != nil {
		return nil, err
	}
	about := j.reporting()
	p := &pipeline{job: j, printer: printer}
	var sink event.Sink
	sink, p.printed = counted(printer)
	sink = j.metrics.Back(sink)
	if j.print.Format == changesFormat || isTable(j.print.Format) && !j.live {
		sink = output.FoldSeries(sink)
	}
	if !j.live { // which has to know what leaves it
		j.filter.Where = j.passes()
	}
	sink = state.around(filter.New(sink, j.filter), failed)
	switch {
	case j.conditions.count > 0:
		sink = upTo(j.conditions.count, p.printed, sink)
	case j.conditions.ends():
		p.wait = j.newWait(sink, what)
		sink = p.wait
		about.IsWell = p.wait.HoldsOfNothing
	}
	about.Note = noteIn(printer)
	p.reporter = report.New(sink, about)
	j.asked.is(p.status)
	return p, nil
}

// last returns what is behind all stages: what writes to stdout, or delivers.
func (j *job) last(ctx context.Context, what *plan.Plan, state *state, failed func(error)) (event.Sink, error) {
	switch {
	case j.delivery != nil:
		return j.delivery.start(ctx, j, state, failed)
	case j.live:
		return j.newScreen(ctx, what.Targets), nil
	}
	return j.newPrinter(ctx, j.stdout)
}

// screen is the live table; nil if there is none.
func (p *pipeline) screen() *live.Screen {
	s, _ := p.printer.(*live.Screen)
	return s
}

// reporting says where reports go. With --quiet the server is asked nothing for them: the
// few that are left have no details.
func (j *job) reporting() report.Options {
	o := report.Options{Out: j.reports, Err: j.stderr, Namesake: j.namesake, About: strings.TrimPrefix(j.aboutNote(), ",")}
	if !j.quiet {
		o.Rights, o.Near, o.IsMissing = j.rights, j.questions.Near, j.questions.IsMissing
	}
	return o
}

// status says how the run is.
func (p *pipeline) status() string {
	status := p.reporter.Status()
	if hidden := p.hiddenIn(p.printer); hidden != "" {
		status += "; " + hidden
	}
	if p.delivery != nil {
		status += "; " + p.delivery.queue.Status()
	}
	return status
}

// sayHidden says at the end what a view has not shown.
func (p *pipeline) sayHidden() {
	if hidden := p.hiddenIn(p.printer); hidden != "" {
		report.Line(p.reports, hidden)
	}
}

// end returns what the run ends with, that ended with err.
func (p *pipeline) end(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, errEnough):
		return nil
	case p.wait != nil:
		return p.wait.end(ctx, err)
	case p.isLate(ctx) && !isLoss(err):
		return p.tooFew(fmt.Sprintf("%d so far", p.printed()))
	}
	return err
}
