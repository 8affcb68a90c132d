package manifest

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"sigs.k8s.io/yaml"
)

// chart contains the Helm chart of a release. dwatch renders its manifests from the same templates, which use only the
// template functions in functions. A test in testdata/chart compares the results with Helm's.
//
//go:embed chart/values.yaml chart/templates/*.yaml chart/templates/_*.tpl
var chart embed.FS

// charted is the chart for a run.
type charted struct {
	templates *template.Template
	top       map[string]any // the data of the templates
}

func newChart(r Workload) (*charted, error) {
	c := &charted{templates: template.New("")}
	c.templates.Funcs(functions).Funcs(template.FuncMap{"include": c.include})
	if _, err := c.templates.ParseFS(chart, "chart/templates/*"); err != nil {
		return nil, err
	}
	merged, err := r.merged()
	c.top = map[string]any{
		"Values":       merged,
		"Release":      map[string]any{"Name": r.Name, "Namespace": r.Namespace, "Service": "dwatch"},
		"Capabilities": map[string]any{"APIVersions": r.served()},
	}
	return c, err
}

// served are types that a server has.
type served []string

func (r Workload) served() served {
	if r.Monitoring {
		return served{PodMonitor, PrometheusRule}
	}
	return nil
}

// Has is for the templates.
func (s served) Has(name string) bool { return slices.Contains(s, name) }

// merged returns the default values of the chart, overridden by the values of r.
func (r Workload) merged() (map[string]any, error) {
	text, err := chart.ReadFile("chart/values.yaml")
	if err != nil {
		return nil, err
	}
	own, err := r.Values()
	if err != nil {
		return nil, err
	}
	var all, over map[string]any
	err = errors.Join(yaml.Unmarshal(text, &all), yaml.Unmarshal(own.Text, &over))
	return merge(over, all), err
}

func (c *charted) render(name string) ([]byte, error) {
	text, err := c.include(name, c.top)
	if text = strings.TrimSpace(text); text != "" {
		text += "\n"
	}
	return []byte(text), err
}

// include implements the template function include.
func (c *charted) include(name string, of any) (string, error) {
	var text bytes.Buffer
	err := c.templates.ExecuteTemplate(&text, name, of)
	return text.String(), err
}

// functions are the template functions of Helm that the chart uses. They return the same as Helm's, but quote omits quotes
// that YAML does not need.
var functions = template.FuncMap{
	"include":    func(string, any) (string, error) { return "", errors.New("not of a chart") },
	"fail":       func(why string) (string, error) { return "", errors.New(why) },
	"quote":      func(value any) string { return quote(fmt.Sprint(value)) },
	"toString":   func(value any) string { return fmt.Sprint(value) },
	"default":    func(other, value any) any { return first(value, other) },
	"first":      func(list []any) any { return list[0] },
	"list":       func(of ...any) []any { return of },
	"int":        func(value any) (int, error) { return whole(value) },
	"dict":       dict,
	"merge":      merge,
	"omit":       omit,
	"has":        func(one any, list []any) bool { return slices.Contains(list, one) },
	"toYaml":     toYAML,
	"trim":       strings.TrimSpace,
	"indent":     indent,
	"nindent":    func(by int, text string) string { return "\n" + indent(by, text) },
	"trimPrefix": func(prefix, text string) string { return strings.TrimPrefix(text, prefix) },
	"hasPrefix":  func(prefix, text string) bool { return strings.HasPrefix(text, prefix) },
	"hasSuffix":  func(suffix, text string) bool { return strings.HasSuffix(text, suffix) },
}

func first(value, other any) any {
	if is, _ := template.IsTrue(value); is {
		return value
	}
	return other
}

// whole is a number, which JSON has as one with a fraction, or one in a text.
func whole(value any) (int, error) {
	switch n := value.(type) {
	case int:
		return n, nil
	case float64:
		return int(n), nil
	case string:
		return strconv.Atoi(n)
	}
	return 0, fmt.Errorf("%v is no number", value)
}

func dict(pairs ...any) map[string]any {
	d := map[string]any{}
	for pair := range slices.Chunk(pairs, 2) {
		d[fmt.Sprint(pair[0])] = pair[1]
	}
	return d
}

// merge merges others into to, including nested maps.
func merge(to map[string]any, others ...map[string]any) map[string]any {
	for _, other := range others {
		for key, value := range other {
			there, has := to[key]
			inner, isMap := there.(map[string]any)
			more, areMaps := value.(map[string]any)
			switch {
			case !has:
				to[key] = value
			case isMap && areMaps:
				to[key] = merge(inner, more)
			}
		}
	}
	return to
}

func omit(from map[string]any, keys ...string) map[string]any {
	left := maps.Clone(from)
	for _, key := range keys {
		delete(left, key)
	}
	return left
}

func toYAML(value any) (string, error) {
	text, err := yaml.Marshal(value)
	return strings.TrimSuffix(string(text), "\n"), err
}

func indent(by int, text string) string {
	space := strings.Repeat(" ", by)
	return space + strings.ReplaceAll(text, "\n", "\n"+space)
}

// plain reports whether YAML 1.1 and 1.2 read the unquoted text as a string.
func plain(text string) bool {
	isLetter := func(c rune) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
	fits := func(c rune) bool { return isLetter(c) || c >= '0' && c <= '9' || strings.ContainsRune("-_./=", c) }
	first := strings.TrimLeft(text, "-/")
	return first != "" && isLetter(rune(first[0])) && !strings.ContainsFunc(text, func(c rune) bool { return !fits(c) }) &&
		!slices.Contains([]string{"y", "n", "yes", "no", "on", "off", "true", "false", "null"}, strings.ToLower(text))
}

// quote is a string in YAML, in which JSON is.
func quote(text string) string {
	if plain(text) {
		return text
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(text); err != nil {
		panic(err) // a string
	}
	return strings.TrimSpace(b.String())
}
