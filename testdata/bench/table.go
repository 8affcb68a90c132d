package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// row is how a metric appears in the table.
type row struct {
	metric metric
	name   string
	format func(float64) string
	plain  bool // without ratios
}

// rows returns the rows of the table from top to bottom.
func rows(o options) []row {
	return []row{
		{firstOut, "first out", seconds, false},
		{allOut, fmt.Sprintf("all %s out", thousands(o.pods)), seconds, false},
		{syncCPU, "CPU until all are out", seconds, false},
		{syncPeak, "peak memory", megabytes, false},
		{settled, fmt.Sprintf("memory %g s later", rest.Seconds()), megabytes, false},
		{bytesOut, "bytes out", megabytes, false},
		{churnSeen, fmt.Sprintf("seen of %s updates at full speed", thousands(o.updates)), count, true},
		{churnRate, "updates per second", count, false},
		{churnCPU, "CPU per update", seconds, false},
		{churnPeak, "peak memory, updates included", megabytes, false},
		{latency, fmt.Sprintf("latency at %g/s, median", o.rate), seconds, false},
		{latencyP99, fmt.Sprintf("latency at %g/s, p99", o.rate), seconds, false},
		{startUp, "start to first out, one object", seconds, false},
	}
}

// table returns the medians as a Markdown table: a column for each contender, and
// beside those of dwatch their ratios to the references. Curl, which has one way to
// watch, stands beside the one that does the same.
func (r results) table(o options) string {
	return r.columns(o,
		r.measured(dwatchName, dwatchOldName, changesName, viewName, whereName, pageName, dwatchListName),
		r.measured(beforeName, kubectlName, curlName))
}

// formats is the table of what prints something else than events as JSON. Each stands
// beside the kubectl that prints the same. Where none took part, there is no table.
func (r results) formats(o options) string {
	header, pairs := []string{""}, [][2]string{{tableName, kubectlTableName}, {jsonPathName, kubectlJSONPathName}}
	pairs = slices.DeleteFunc(pairs, func(pair [2]string) bool { return len(r.measured(pair[:]...)) == 0 })
	if len(pairs) == 0 {
		return ""
	}
	for _, pair := range pairs {
		header = append(header, pair[0], "/ kubectl", pair[1])
	}
	lines := [][]string{header}
	for _, row := range rows(o) {
		line := []string{row.name}
		for _, pair := range pairs {
			line = append(line, r.cell(row, pair[0]), r.ratio(row, pair[0], pair[1]), r.cell(row, pair[1]))
		}
		lines = append(lines, line)
	}
	return markdown(lines)
}

// columns is a table of subjects beside references.
func (r results) columns(o options, subjects, references []string) string {
	header := []string{""}
	for i, name := range subjects {
		header = append(header, name)
		for _, reference := range beside(i, references) {
			header = append(header, "/ "+reference)
		}
	}
	lines := [][]string{append(header, references...)}
	for _, row := range rows(o) {
		line := []string{row.name}
		for i, name := range subjects {
			line = append(line, r.cell(row, name))
			for _, reference := range beside(i, references) {
				line = append(line, r.ratio(row, name, reference))
			}
		}
		for _, reference := range references {
			line = append(line, r.cell(row, reference))
		}
		lines = append(lines, line)
	}
	return markdown(lines)
}

// beside returns the references whose ratios stand beside a subject.
func beside(subject int, references []string) []string {
	if subject == 0 {
		return references
	}
	return slices.DeleteFunc(slices.Clone(references), func(name string) bool { return name == curlName })
}

// measured returns those of the contenders that took part.
func (r results) measured(names ...string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return r[name] == nil })
}

func (r results) cell(row row, name string) string {
	value := r.median(name, row.metric)
	if math.IsNaN(value) {
		return ""
	}
	return row.format(value)
}

func (r results) ratio(row row, name, reference string) string {
	if reference == beforeName {
		reference = before(name)
	}
	value := r.median(name, row.metric) / r.median(reference, row.metric)
	if math.IsNaN(value) || row.plain {
		return ""
	}
	return significant(value, 2)
}

// markdown lays out lines as a table, the first of them as its head: readable
// as text too, numbers to the right.
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

// rule returns the line below the head of a table.
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

// seconds formats a time in s with the unit that suits it.
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

// megabytes formats bytes in millions.
func megabytes(bytes float64) string { return significant(bytes/1e6, 3) + " MB" }

// count formats a number of things.
func count(n float64) string { return thousands(int(math.Round(n))) }

// significant formats a value with at least so many significant digits, and
// without an exponent.
func significant(value float64, digits int) string {
	decimals := digits - 1
	if value != 0 {
		decimals -= int(math.Floor(math.Log10(math.Abs(value))))
	}
	return strconv.FormatFloat(value, 'f', min(max(decimals, 0), 9), 64)
}

// thousands formats a number that is not negative with commas.
func thousands(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
