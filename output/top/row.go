package top

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/clipperhouse/displaywidth"

	"dwatch/output"
	"dwatch/watcher/object/churn"
)

// row is an object, as JSON: what its members mean is in docs/top.md.
type row struct {
	Time      time.Time        `json:"time"`
	PerMinute float64          `json:"perMinute"`
	Changes   int              `json:"changes"`
	Idle      int              `json:"idle,omitempty"`
	Object    object           `json:"object"`
	Fields    []field          `json:"fields,omitempty"`
	Fights    []*churn.Finding `json:"fights,omitempty"`
	HotLoop   *churn.Finding   `json:"hotLoop,omitempty"`

	name string
}

type object struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
}

type field struct {
	Path     string         `json:"path"`
	Changes  int            `json:"changes"`
	Managers map[string]int `json:"managers,omitempty"`
}

func (t *Top) row(o *churn.Object, now time.Time) row {
	r := row{Time: now, Changes: o.Times, Idle: o.Idle(), name: t.ShortName(o.Target.Resource()) + "/" + o.Key.Name}
	r.Object = object{o.APIVersion, o.Kind, o.Key.Namespace, o.Key.Name}
	// A run that is younger than a minute knows what a minute would be only about.
	since := min(now.Sub(t.began), time.Minute)
	r.PerMinute = float64(o.LastMinute(now)) * float64(time.Minute) / float64(max(since, time.Second))
	r.PerMinute = float64(int(r.PerMinute*10+0.5)) / 10
	for _, f := range o.Fields() {
		managers := map[string]int{}
		for _, m := range f.Managers {
			managers[m.Name] = m.Times
		}
		r.Fields = append(r.Fields, field{f.Path, f.Times, managers})
	}
	for _, f := range o.Findings(now) {
		if f.IsFight() {
			r.Fights = append(r.Fights, f)
		} else {
			r.HotLoop = f
		}
	}
	r.name = output.Line(r.name)
	return r
}

// lines are the table: a row for each object, and below it what is found out about that.
func (t *Top) lines(rows []row) (lines []string) {
	cells := [][]string{{"PER MIN", "CHANGES", "OBJECT", "FIELD", "MANAGER"}}
	if t.Namespaces {
		cells[0] = append([]string{"NAMESPACE"}, cells[0]...)
	}
	below := map[int][]string{}
	for _, r := range rows {
		path, managers := r.most()
		line := []string{fmt.Sprintf("%.1f", r.PerMinute), fmt.Sprint(r.Changes), r.name, path, managers}
		if t.Namespaces {
			line = append([]string{output.Line(r.Object.Namespace)}, line...)
		}
		cells = append(cells, line)
		for _, f := range r.Fights {
			below[len(cells)-1] = append(below[len(cells)-1], f.String())
		}
		if r.HotLoop != nil {
			below[len(cells)-1] = append(below[len(cells)-1], r.HotLoop.String())
		}
	}
	widths := make([]int, len(cells[0]))
	for _, line := range cells {
		for i, cell := range line {
			widths[i] = max(widths[i], displaywidth.String(cell))
		}
	}
	for n, line := range cells {
		lines = append(lines, aligned(line, widths))
		for _, text := range below[n] {
			lines = append(lines, "  ! "+output.Line(text))
		}
	}
	return lines
}

const gap = 3 // kubectl's

func aligned(cells []string, widths []int) string {
	var b strings.Builder
	for i, cell := range cells {
		b.WriteString(cell)
		if i < len(cells)-1 {
			b.WriteString(strings.Repeat(" ", widths[i]-displaywidth.String(cell)+gap))
		}
	}
	return strings.TrimRight(b.String(), " ")
}

// most returns the field that changed most, and its managers.
func (r *row) most() (path, managers string) {
	if len(r.Fields) == 0 {
		return "", ""
	}
	f := r.Fields[0]
	path = output.Line(f.Path)
	if more := len(r.Fields) - 1; more > 0 {
		path += fmt.Sprintf(", +%d", more)
	}
	return path, output.Line(strings.Join(slices.SortedFunc(maps.Keys(f.Managers), func(a, b string) int { return cmp.Or(f.Managers[b]-f.Managers[a], cmp.Compare(a, b)) }), ", "))
}
