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

// renderer renders the templates of the chart for a Workload.
type renderer struct {
	templates *template.Template
	top       map[string]any // the data of the templates
}

func newRenderer(r Workload) (*renderer, error) {
	c := &renderer{templates: template.New("")}
	c.templates.Funcs(functions).Funcs(template.FuncMap{"include": c.include})
	if _, err := c.templates.ParseFS(chart, "chart/templates/*"); err != nil {
		return nil, err
	}
	merged, err := r.merged()
	c.top = map[string]any{
		"Values":       merged,
		"Release":      map[string]any{"Name": r.Name, "Namespace": r.Namespace, "Service": "dwatch"},
		"Capabilities": map[string]any{"APIVersions": r.servedKinds()},
	}
	return c, err
}

// servedKinds are the optional types that the templates take as served.
type servedKinds []string

func (r Workload) servedKinds() servedKinds {
	if r.Monitoring {
		return servedKinds{PodMonitor, PrometheusRule}
	}
	return nil
}

// Has reports whether a type counts as served. Templates call it as .Capabilities.APIVersions.Has.
func (s servedKinds) Has(name string) bool { return slices.Contains(s, name) }

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

// render returns the result of a template, or nothing if the values disable it.
func (c *renderer) render(name string) ([]byte, error) {
	text, err := c.include(name, c.top)
	if text = strings.TrimSpace(text); text != "" {
		text += "\n"
	}
	return []byte(text), err
}

// include implements the template function include.
func (c *renderer) include(name string, data any) (string, error) {
	var text bytes.Buffer
	err := c.templates.ExecuteTemplate(&text, name, data)
	return text.String(), err
}

// functions are the template functions of Helm that the chart uses. They return the same as Helm's, but quote omits quotes
// that YAML does not need.
var functions = template.FuncMap{
	"include":    func(string, any) (string, error) { return "", errors.New("include is not set") }, // newRenderer sets it
	"fail":       func(message string) (string, error) { return "", errors.New(message) },
	"quote":      func(value any) string { return quote(fmt.Sprint(value)) },
	"toString":   func(value any) string { return fmt.Sprint(value) },
	"default":    valueOr,
	"first":      func(list []any) any { return list[0] },
	"list":       func(elements ...any) []any { return elements },
	"int":        toInt,
	"dict":       dict,
	"merge":      merge,
	"omit":       omit,
	"has":        func(value any, list []any) bool { return slices.Contains(list, value) },
	"toYaml":     toYAML,
	"trim":       strings.TrimSpace,
	"indent":     indent,
	"nindent":    func(by int, text string) string { return "\n" + indent(by, text) },
	"trimPrefix": func(prefix, text string) string { return strings.TrimPrefix(text, prefix) },
	"hasPrefix":  func(prefix, text string) bool { return strings.HasPrefix(text, prefix) },
	"hasSuffix":  func(suffix, text string) bool { return strings.HasSuffix(text, suffix) },
}

// valueOr returns value, or fallback if value is empty.
func valueOr(fallback, value any) any {
	if ok, _ := template.IsTrue(value); ok {
		return value
	}
	return fallback
}

// toInt converts a number, or its decimal digits. Decoded YAML has float64 for all numbers.
func toInt(value any) (int, error) {
	switch n := value.(type) {
	case int:
		return n, nil
	case float64:
		return int(n), nil
	case string:
		return strconv.Atoi(n)
	}
	return 0, fmt.Errorf("%v is not a number", value)
}

func dict(pairs ...any) map[string]any {
	d := map[string]any{}
	for pair := range slices.Chunk(pairs, 2) {
		d[fmt.Sprint(pair[0])] = pair[1]
	}
	return d
}

// merge adds the keys of others that to does not have, also in nested maps. It returns to.
func merge(to map[string]any, others ...map[string]any) map[string]any {
	for _, other := range others {
		for key, value := range other {
			current, exists := to[key]
			currentMap, isMap := current.(map[string]any)
			otherMap, otherIsMap := value.(map[string]any)
			switch {
			case !exists:
				to[key] = value
			case isMap && otherIsMap:
				to[key] = merge(currentMap, otherMap)
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

// isPlain reports whether YAML 1.1 and 1.2 read the unquoted text as a string.
func isPlain(text string) bool {
	isLetter := func(c rune) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
	fits := func(c rune) bool { return isLetter(c) || c >= '0' && c <= '9' || strings.ContainsRune("-_./=", c) }
	first := strings.TrimLeft(text, "-/")
	return first != "" && isLetter(rune(first[0])) && !strings.ContainsFunc(text, func(c rune) bool { return !fits(c) }) &&
		!slices.Contains([]string{"y", "n", "yes", "no", "on", "off", "true", "false", "null"}, strings.ToLower(text))
}

// quote returns text as a YAML string. It is a JSON string, which is valid YAML, unless the text needs no quotes.
func quote(text string) string {
	if isPlain(text) {
		return text
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(text); err != nil {
		panic(err) // a string can always be encoded
	}
	return strings.TrimSpace(b.String())
}
