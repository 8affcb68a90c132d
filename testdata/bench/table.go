package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// subject is a table. It has a row for each contender with at least one of its metrics.
type subject struct {
	title   string
	columns []column
}

// column is a metric in a table. It is followed by columns with the ratios to other contenders.
type column struct {
	metric metric
	name   string
	format func(float64) string
	beside []string
}

// subjects returns the tables of watches.
func subjects(o options) []subject {
	wire, kubectl := []string{kubectlName, curlName, beforeName}, []string{kubectlName, beforeName}
	return []subject{
		{fmt.Sprintf("Time until all %s pods are out", thousands(o.pods)), []column{
			{firstOut, "first out", seconds, nil},
			{allOut, "all out", seconds, wire},
			{bytesOut, "bytes out", megabytes, nil},
		}},
		{"CPU", []column{
			{syncCPU, "until all are out", seconds, wire},
			{churnCPU, "for an update", seconds, kubectl},
		}},
		{"Memory", []column{
			{syncPeak, "peak", megabytes, kubectl},
			{settled, fmt.Sprintf("%g s later", settleTime.Seconds()), megabytes, nil},
			{churnPeak, "peak, updates included", megabytes, kubectl},
		}},
		{"Updates", []column{
			{churnSeen, fmt.Sprintf("seen of %s at full speed", thousands(o.updates)), count, nil},
			{churnRate, "a second", count, nil},
			{latency, fmt.Sprintf("latency at %g/s, median", o.rate), seconds, kubectl},
			{latencyP99, "p99", seconds, nil},
			{viewerBytes, "to a viewer, each", megabytes, nil},
		}},
		{"Start to first out, one object", []column{{startUp, "time", seconds, kubectl}}},
	}
}

// tableOrder returns the contenders in the order of the tables: each dwatch and its older version, then
// the programs that they are compared with.
func tableOrder() (names []string) {
	for _, c := range comparisons {
		names = append(names, c.name, before(c.name))
	}
	return append(names, kubectlName, kubectlTableName, kubectlJSONPathName, curlName)
}

// tables returns the medians as Markdown tables, one for each subject.
func (r results) tables(o options) string {
	var b strings.Builder
	for _, s := range subjects(o) {
		if text := r.table(s); text != "" {
			fmt.Fprintf(&b, "**%s**\n\n%s\n", s.title, text)
		}
	}
	return b.String()
}

// table returns the table of a subject without columns of ratios that are empty, or "" if there are no
// results for it.
func (r results) table(s subject) string {
	names := slices.DeleteFunc(tableOrder(), func(name string) bool {
		return !slices.ContainsFunc(s.columns, func(c column) bool { return r.cell(c, name) != "" })
	})
	if len(names) == 0 {
		return ""
	}
	lines := make([][]string, 1+len(names))
	add := func(title string, cell func(name string) string) {
		lines[0] = append(lines[0], title)
		for i, name := range names {
			lines[1+i] = append(lines[1+i], cell(name))
		}
	}
	add("", func(name string) string { return name })
	for _, c := range s.columns {
		add(c.name, func(name string) string { return r.cell(c, name) })
		for _, other := range c.beside {
			ratio := func(name string) string { return r.ratio(c, name, other) }
			if slices.ContainsFunc(names, func(name string) bool { return ratio(name) != "" }) {
				add("/ "+other, ratio)
			}
		}
	}
	return markdown(lines)
}

// cell returns the formatted median, or "" if there is none.
func (r results) cell(c column, name string) string {
	value := r.median(name, c.metric)
	if math.IsNaN(value) {
		return ""
	}
	return c.format(value)
}

// ratio returns the ratio of a contender to other: to the kubectl with the same output, to curl if the
// output is the same, or to the older dwatch. It is "" if there is none.
func (r results) ratio(c column, name, other string) string {
	i := slices.IndexFunc(comparisons, func(pair struct{ name, kubectl string }) bool { return pair.name == name })
	if i < 0 {
		return ""
	}
	switch other {
	case kubectlName:
		other = comparisons[i].kubectl
	case curlName:
		if name != dwatchName {
			return ""
		}
	case beforeName:
		other = before(name)
	}
	value := r.median(name, c.metric) / r.median(other, c.metric)
	if math.IsNaN(value) {
		return ""
	}
	return significant(value, 2)
}

// markdown formats lines as an aligned Markdown table. The first line is its header.
func markdown(lines [][]string) string {
	width := make([]int, len(lines[0]))
	for _, line := range lines {
		for i, cell := range line {
			width[i] = max(width[i], utf8.RuneCountInString(cell), 3)
		}
	}
	var b strings.Builder
	for n, line := range lines {
		for i, cell := range line {
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
			if i == 0 {
				b.WriteString("| " + cell + pad)
			} else {
				b.WriteString(" | " + pad + cell)
			}
		}
		b.WriteString(" |\n")
		if n == 0 {
			b.WriteString(rule(width))
		}
	}
	return b.String()
}

// rule returns the line below the header of a table.
func rule(width []int) string {
	var b strings.Builder
	for i, w := range width {
		if i == 0 {
			b.WriteString("|" + strings.Repeat("-", w+2))
		} else {
			b.WriteString("|" + strings.Repeat("-", w+1) + ":")
		}
	}
	return b.String() + "|\n"
}

// seconds formats a time in s with a suitable unit.
func seconds(s float64) string {
	switch {
	case s < 1e-3:
		return significant(s*1e6, 3) + " µs"
	case s < 1:
		return significant(s*1e3, 3) + " ms"
	default:
		return significant(s, 3) + " s"
	}
}

// megabytes formats bytes as MB, or as B if there are fewer than 10,000.
func megabytes(bytes float64) string {
	if bytes < 1e4 {
		return count(bytes) + " B"
	}
	return significant(bytes/1e6, 3) + " MB"
}

// count formats a number of objects or events.
func count(n float64) string { return thousands(int(math.Round(n))) }

// significant formats a value with at least this number of significant digits, and without an exponent.
func significant(value float64, digits int) string {
	decimals := digits - 1
	if value != 0 {
		decimals -= int(math.Floor(math.Log10(math.Abs(value))))
	}
	return strconv.FormatFloat(value, 'f', min(max(decimals, 0), 9), 64)
}

// thousands formats a non-negative number with commas.
func thousands(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
