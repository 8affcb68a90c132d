package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// sample has metrics of dwatch at a time.
type sample struct {
	at                                                time.Time
	memory, heap, files, goroutines                   float64
	missed, verified, gaps, givenUp, refused, waiting float64
	reloaded, reloadedAt                              float64
	delivered                                         map[string]float64 // by rule
}

// sample reads the metrics of dwatch.
func (s *soak) sample(ctx context.Context) (*sample, error) {
	text, err := s.get(ctx, "/metrics")
	if err != nil {
		return nil, err
	}
	of := &sample{at: time.Now(), delivered: map[string]float64{}}
	sums := map[string]*float64{
		"process_resident_memory_bytes": &of.memory, "go_memstats_heap_inuse_bytes": &of.heap, "process_open_fds": &of.files, "go_goroutines": &of.goroutines,
		"dwatch_missed_total": &of.missed, "dwatch_verified_total": &of.verified, "dwatch_gaps_total": &of.gaps,
		"dwatch_delivery_given_up_total": &of.givenUp, "dwatch_delivery_waiting_events": &of.waiting,
		"dwatch_rules_last_reload_successful": &of.reloaded, "dwatch_rules_last_reload_success_timestamp_seconds": &of.reloadedAt,
	}
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		series, number, _ := strings.Cut(lines.Text(), " ")
		if at := strings.LastIndexByte(lines.Text(), ' '); at > 0 {
			series, number = lines.Text()[:at], lines.Text()[at+1:]
		}
		name, labels, _ := strings.Cut(series, "{")
		value, err := strconv.ParseFloat(number, 64)
		if err != nil {
			continue // a comment
		}
		if sum := sums[name]; sum != nil {
			*sum += value
		}
		switch {
		case name == "dwatch_delivery_attempts_total" && strings.Contains(labels, `result="refused"`):
			of.refused += value
		case name == "dwatch_delivery_delivered_total":
			_, rule, _ := strings.Cut(labels, `rule="`)
			rule, _, _ = strings.Cut(rule, `"`)
			of.delivered[rule] = value
		}
	}
	return of, nil
}

// deliveredSince reports whether each rule has delivered something since an earlier sample. The counters of a changed
// rule start from zero.
func (now *sample) deliveredSince(before *sample) bool {
	for rule := range now.delivered {
		if n, known := before.delivered[rule]; known && now.delivered[rule] == n {
			return false
		}
	}
	return true
}

func (s *soak) get(ctx context.Context, path string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.listen+path, nil)
	if err != nil {
		return "", err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if answer.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: %s", path, answer.Status)
	}
	return string(text), err
}

func (s *soak) isOK(ctx context.Context, path string) bool {
	_, err := s.get(ctx, path)
	return err == nil
}

// measure takes samples until ctx ends.
func (s *soak) measure(ctx context.Context) error {
	for sleep(ctx, min(s.every, 10*time.Second)) {
		now, err := s.sample(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		s.samples = append(s.samples, now)
	}
	return nil
}

// measure is a resource whose use by dwatch must not keep growing.
type measure struct {
	name, unit string
	of         func(*sample) float64
	per        float64 // divisor for unit
	// The median of the last quarter may exceed that of the first one by the sum of relative (a share of it) and
	// absolute, because the use depends on what was replaced just before.
	relative, absolute float64
}

var measures = []measure{
	{"memory (RSS)", "MB", func(s *sample) float64 { return s.memory }, 1e6, 0.15, 10e6},
	{"heap in use", "MB", func(s *sample) float64 { return s.heap }, 1e6, 0.15, 5e6},
	{"open files", "", func(s *sample) float64 { return s.files }, 1, 0.1, 3},
	{"goroutines", "", func(s *sample) float64 { return s.goroutines }, 1, 0.1, 8},
}

// trend is the medians of a measure in the first quarter, the whole and the last quarter of the samples, and its growth
// per hour.
type trend struct{ first, all, last, slope float64 }

func (m *measure) trend(samples []*sample) (t trend) {
	values := make([]float64, len(samples))
	for i, s := range samples {
		values[i] = m.of(s)
	}
	quarter := max(len(values)/4, 1)
	t = trend{median(values[:quarter]), median(values), median(values[len(values)-quarter:]), 0}
	// Fit the slope by least squares.
	var x, y, xx, xy float64
	for i, s := range samples {
		at := s.at.Sub(samples[0].at).Hours()
		x, y, xx, xy = x+at, y+values[i], xx+at*at, xy+at*values[i]
	}
	n := float64(len(samples))
	if d := n*xx - x*x; d > 0 {
		t.slope = (n*xy - x*y) / d
	}
	return t
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// grows describes the growth of a measure that exceeds its limit. It returns "" if none does.
func (m *measure) grows(samples []*sample) string {
	if len(samples) == 0 {
		return m.name + ": not measured"
	}
	t := m.trend(samples)
	if most := t.first*(1+m.relative) + m.absolute; t.last > most {
		return fmt.Sprintf("%s grows: the median was %.1f %s in the first quarter, and %.1f in the last one, want at most %.1f",
			m.name, t.first/m.per, m.unit, t.last/m.per, most/m.per)
	}
	return ""
}

// report returns the results of the run as a table.
func (s *soak) report(last *sample) string {
	var text strings.Builder
	row := func(name string, value any) { fmt.Fprintf(&text, "%-42s %v\n", name, value) }
	for _, name := range slices.Sorted(maps.Keys(s.rotated)) {
		r := s.rotated[name]
		times := fmt.Sprintf("%d times", r.times)
		if r.silence > 0 {
			times += fmt.Sprintf(", each rule delivers within %.1f s", r.silence.Seconds())
		}
		row("  "+name, times)
	}
	written := 0
	for _, w := range s.writers {
		written += w.written
	}
	row("events written", written)
	for _, rule := range slices.Sorted(maps.Keys(s.records)) {
		r := s.records[rule]
		row("delivered: "+rule, fmt.Sprintf("%d, repeated %d", r.lines, r.repeated))
	}
	between := 0
	for is := range s.wrote {
		if s.records["web"].delivered[is] == nil {
			between++
		}
	}
	row("intermediate states skipped by a relist", between)
	row("relisted (dwatch_gaps_total)", last.gaps)
	row("compared (dwatch_verified_total)", last.verified)
	row("missed (dwatch_missed_total)", last.missed)
	row("refused, then retried", last.refused)
	row("given up", last.givenUp)
	row("seed", s.seed)
	fmt.Fprintf(&text, "%-16s %14s %8s %13s %10s %12s\n", fmt.Sprintf("%d samples", len(s.samples)), "first quarter", "median", "last quarter", "per hour", "at most")
	for _, m := range measures {
		if len(s.samples) > 0 {
			t := m.trend(s.samples)
			fmt.Fprintf(&text, "%-16s %14.1f %8.1f %13.1f %+10.1f %12.1f %s\n", m.name, t.first/m.per, t.all/m.per, t.last/m.per, t.slope/m.per, (t.first*(1+m.relative)+m.absolute)/m.per, m.unit)
		}
	}
	return text.String()
}
