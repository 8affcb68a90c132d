// Package manifest makes the objects that run dwatch in a cluster: as text, which says to its
// readers why it is so. It asks no server, and knows no flags.
package manifest

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"text/template"
	"unicode"

	"sigs.k8s.io/yaml"
)

// Where the pod has what it keeps, and what it is given.
const (
	StateDir  = "/var/lib/dwatch"
	SecretDir = "/etc/dwatch"
	RulesDir  = "/etc/dwatch-rules"
)

// RulesFile is where the pod has its rules.
const RulesFile = RulesDir + "/rules.yaml"

// The port of --listen that the probes and Prometheus ask.
const MetricsPort = 9090

// Run is what runs, and where.
type Run struct {
	Name, Namespace string // of all objects but the roles
	Image           string
	Args            []string // of the container
	Roles           []any    // what its service account may do
	Ports           []Port   // where it listens; that of the metrics is called metrics
	Egress          []Peer   // whom it may reach; nil: everybody
	Rules           string   // what is at RulesFile; empty: nothing
	Secrets         bool     // the arguments name files below SecretDir, which are in the Secret of its name
	Room            string   // how large the volume at StateDir is, a quantity; empty: there is none
	Memory          string   // at most, a quantity
	Grace           int      // seconds that it takes to end
	Delivers        bool
	Monitored       bool // there are PodMonitors
	Alerted         bool // there are PrometheusRules
}

// Port is one where the pod listens.
type Port struct {
	Name   string
	Number int
}

// File is a manifest of one object, or of several.
type File struct {
	Name string
	Text []byte
}

//go:embed objects
var objects embed.FS

// StateDir and SecretDir are for the templates.
func (Run) StateDir() string  { return StateDir }
func (Run) SecretDir() string { return SecretDir }
func (Run) RulesDir() string  { return RulesDir }

// Files returns the manifests in the order in which they are to be applied.
func (r Run) Files() ([]File, error) {
	var files []File
	for _, o := range []struct {
		name string
		is   bool
	}{
		{"serviceaccount", true}, {"roles", true}, {"service", true}, {"networkpolicy", true}, {"disruption", true},
		{"volume", r.Room != ""}, {"rules", r.Rules != ""}, {"podmonitor", r.Monitored}, {"alerts", r.Alerted}, {"statefulset", true},
	} {
		if !o.is {
			continue
		}
		text, err := r.file(o.name)
		if err != nil {
			return nil, fmt.Errorf("manifest of %s: %w", o.name, err)
		}
		files = append(files, File{o.name + ".yaml", text})
	}
	return files, nil
}

func (r Run) file(name string) ([]byte, error) {
	if name == "roles" {
		return Documents(r.Roles)
	}
	t, err := template.New(name+".yaml").Funcs(functions).ParseFS(objects, "objects/"+name+".yaml")
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	err = t.Execute(&text, r)
	return text.Bytes(), err
}

// Documents are objects in YAML, one document each.
func Documents(objects []any) ([]byte, error) {
	var documents [][]byte
	for _, object := range objects {
		document, err := yaml.Marshal(object)
		if err != nil {
			return nil, fmt.Errorf("encode as YAML: %w", err)
		}
		documents = append(documents, document)
	}
	return bytes.Join(documents, []byte("---\n")), nil
}

// Join puts files into one.
func Join(files []File) []byte {
	var texts [][]byte
	for _, f := range files {
		texts = append(texts, f.Text)
	}
	return bytes.Join(texts, []byte("---\n"))
}

// Kustomization returns a base of files.
func Kustomization(files []File) File {
	text := "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n"
	for _, f := range files {
		text += "  - " + f.Name + "\n"
	}
	return File{"kustomization.yaml", []byte(text)}
}

const (
	nameLabel     = "app.kubernetes.io/name"
	instanceLabel = "app.kubernetes.io/instance"
)

var functions = template.FuncMap{
	"labels":   func(r Run) string { return flow(map[string]string{nameLabel: "dwatch", instanceLabel: r.Name}) },
	"argument": argument,
	"quote":    quote,
	"indented": indented,
}

func flow(labels map[string]string) string {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		pairs = append(pairs, name+": "+quote(labels[name]))
	}
	return "{" + strings.Join(pairs, ", ") + "}"
}

// plain are strings that YAML 1.1 and 1.2 take for strings, as they are.
func plain(text string) bool {
	isLetter := func(c rune) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
	fits := func(c rune) bool { return isLetter(c) || c >= '0' && c <= '9' || strings.ContainsRune("-_./=", c) }
	first := strings.TrimLeft(text, "-/")
	return first != "" && isLetter(rune(first[0])) && !strings.ContainsFunc(text, func(c rune) bool { return !fits(c) }) &&
		!slices.Contains([]string{"y", "n", "yes", "no", "on", "off", "true", "false", "null"}, strings.ToLower(text))
}

// argument is one of a container: Kubernetes puts variables into what has $(NAME), but not where the
// sign is doubled.
func argument(text string) string { return quote(strings.ReplaceAll(text, "$", "$$")) }

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

// indented is a value in YAML, whose lines but the first are indented.
func indented(value any, indent int) (string, error) {
	text, err := yaml.Marshal(value)
	return strings.ReplaceAll(strings.TrimSpace(string(text)), "\n", "\n"+strings.Repeat(" ", indent)), err
}

// Mount returns the path below a directory of the pod of a file here: by its last name, with the
// characters that a key of a Secret may have. named is false where it has no such name.
func Mount(dir, file string) (at string, named bool) {
	name := path.Base(strings.ReplaceAll(file, `\`, "/"))
	key := strings.Map(func(c rune) rune {
		if c < 0x80 && (unicode.IsLetter(c) || unicode.IsDigit(c) || strings.ContainsRune("-_.", c)) {
			return c
		}
		return '-'
	}, name)
	return path.Join(dir, key), name != "." && name != ".." && name != "/"
}
