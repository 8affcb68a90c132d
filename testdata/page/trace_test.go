package page

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/tracing"
	"github.com/chromedp/chromedp"
)

// work is the CPU times of the tasks of a page's main thread. Other processes on the machine do not increase it.
type work []time.Duration

func (w work) longest() time.Duration {
	if len(w) == 0 {
		return 0
	}
	return slices.Max(w)
}

func (w work) sum() (sum time.Duration) {
	for _, d := range w {
		sum += d
	}
	return sum
}

func (w work) String() string {
	sorted := slices.Sorted(slices.Values(w))
	if len(sorted) == 0 {
		return "no tasks"
	}
	longer := 0
	for _, d := range w {
		if d > betweenFrames {
			longer++
		}
	}
	return fmt.Sprintf("%d tasks of the page's main thread: 99 %% took at most %v, %d longer than %v, the longest %v, all %v",
		len(sorted), sorted[len(sorted)*99/100].Round(100*time.Microsecond), longer, betweenFrames, w.longest().Round(100*time.Microsecond), w.sum().Round(time.Millisecond))
}

// betweenFrames is the time between two frames without delays.
const betweenFrames = 16700 * time.Microsecond

// frames are the times between consecutive frames of a page.
type frames []time.Duration

func (f frames) String() string {
	if len(f) == 0 {
		return "no frames"
	}
	sorted := slices.Sorted(slices.Values(f))
	at := func(percent int) time.Duration {
		return sorted[(len(sorted)-1)*percent/100].Round(100 * time.Microsecond)
	}
	return fmt.Sprintf("%d frames, %v apart (median), 99 %% at most %v, the longest %v", len(f), at(50), at(99), at(100))
}

// frames records when the page renders frames until stop is called.
func (b *tab) frames() (stop func() frames) {
	b.t.Helper()
	b.run(`window.framed = [], window.frame = (at) => { window.framed.push(at); window.framing = requestAnimationFrame(window.frame); }, window.framing = requestAnimationFrame(window.frame)`)
	return func() (all frames) {
		b.t.Helper()
		at := value[[]float64](b, `(cancelAnimationFrame(window.framing), window.framed)`)
		for i := 1; i < len(at); i++ {
			all = append(all, time.Duration((at[i]-at[i-1])*float64(time.Millisecond)))
		}
		return all
	}
}

// traced is an event of a trace.
type traced struct {
	Name     string `json:"name"`
	Phase    string `json:"ph"`
	Process  int    `json:"pid"`
	Thread   int    `json:"tid"`
	Duration int64  `json:"tdur"` // CPU time of the thread in microseconds
	Args     struct {
		Name string `json:"name"`
	} `json:"args"`
}

// trace records the tasks of the page until stop is called.
func (b *tab) trace() (stop func() work) {
	b.t.Helper()
	end := b.traceOf("toplevel")
	return func() work { b.t.Helper(); return mainThread(end()) }
}

// traceOf records the events of a category until stop is called.
func (b *tab) traceOf(category string) (stop func() []traced) {
	b.t.Helper()
	var events []traced
	complete := make(chan struct{})
	ctx, cancel := context.WithCancel(b.ctx)
	err := chromedp.Listen(ctx, func(ev any) {
		switch e := ev.(type) {
		case *tracing.EventDataCollected:
			for _, raw := range e.Value {
				var one traced
				if json.Unmarshal(raw, &one) == nil { // events of other shapes are not needed
					events = append(events, one)
				}
			}
		case *tracing.EventTracingComplete:
			close(complete)
		}
	})
	if err != nil {
		b.t.Fatal(err)
	}
	_, err = chromedp.Call(b.ctx, tracing.Start, tracing.StartParams{
		TransferMode: tracing.StartTransferModeReportEvents,
		TraceConfig:  &tracing.TraceConfig{IncludedCategories: []string{category}, ExcludedCategories: []string{"*"}},
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return func() []traced {
		b.t.Helper()
		defer cancel()
		if _, err := chromedp.Call(b.ctx, tracing.End, cdp.Empty{}); err != nil {
			b.t.Fatal(err)
		}
		select {
		case <-complete:
		case <-time.After(patience):
			b.t.Fatal("the trace does not end")
		}
		return events
	}
}

// mainThread returns the tasks of the main threads of pages.
func mainThread(events []traced) (w work) {
	type thread struct{ process, id int }
	pages := map[thread]bool{}
	for _, e := range events {
		if e.Phase == "M" && e.Name == "thread_name" && e.Args.Name == "CrRendererMain" {
			pages[thread{e.Process, e.Thread}] = true
		}
	}
	for _, e := range events {
		if e.Phase == "X" && pages[thread{e.Process, e.Thread}] && e.Duration > 0 {
			w = append(w, time.Duration(e.Duration)*time.Microsecond)
		}
	}
	return w
}
