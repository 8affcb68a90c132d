// Package manifest makes the objects that run dwatch in a cluster: as text, which says to its
// readers why it is so. It asks no server, and knows no flags.
package manifest

import (
	"bytes"
	"fmt"
	"path"
	"strings"
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
type Workload struct {
	Name, Namespace string // of all objects but the roles
	Image           string
	Args            []string // of the container
	Roles           []Role   // what its service account may do
	Ports           []Port   // where it listens; that of the metrics is called metrics
	Egress          []Peer   // whom it may reach; nil: everybody
	Rules           []any    // what is at RulesFile; empty: nothing
	MountsSecrets   bool     // the arguments name files below SecretDir, which are in the Secret of its name
	Replicas        int      // how many pods, of which one works, or each has a shard; 0: one
	VolumePerPod    bool     // each has a volume of its own
	VolumeSize      string   // how large the volume at StateDir is, a quantity; empty: there is none
	MemoryLimit     string   // at most, a quantity
	GraceSeconds    int      // seconds that it takes to end
	ServedKinds     []string // those of PodMonitor and PrometheusRule that the server has
}

// Types that only some servers have.
const (
	PodMonitor     = "monitoring.coreos.com/v1/PodMonitor"
	PrometheusRule = "monitoring.coreos.com/v1/PrometheusRule"
)

// Role is what the service account may do in a namespace, or if that is empty in all of the cluster.
type Role struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace,omitempty"`
	Rules     any    `json:"rules"`
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

// Files returns the manifests in the order in which they are to be applied.
func (r Workload) Files() ([]File, error) {
	c, err := newChart(r)
	if err != nil {
		return nil, err
	}
	var files []File
	for _, name := range []string{
		"serviceaccount", "roles", "service", "networkpolicy", "disruption", "volume", "rules", "podmonitor", "alerts", "statefulset",
	} {
		text, err := c.render(name + ".yaml")
		if err != nil {
			return nil, fmt.Errorf("manifest of %s: %w", name, err)
		}
		if len(text) > 0 {
			files = append(files, File{name + ".yaml", text})
		}
	}
	return files, nil
}

// Documents are objects in YAML, one document each.
func EncodeYAML(objects []any) ([]byte, error) {
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
func JoinFiles(files []File) []byte {
	var texts [][]byte
	for _, f := range files {
		texts = append(texts, f.Text)
	}
	return bytes.Join(texts, []byte("---\n"))
}

// Kustomization returns a base of files.
func NewKustomization(files []File) File {
	text := "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n"
	for _, f := range files {
		text += "  - " + f.Name + "\n"
	}
	return File{"kustomization.yaml", []byte(text)}
}

// Mount returns the path below a directory of the pod of a file here: by its last name, with the
// characters that a key of a Secret may have. named is false where it has no such name.
func MountPath(dir, file string) (at string, named bool) {
	name := path.Base(strings.ReplaceAll(file, `\`, "/"))
	key := strings.Map(func(c rune) rune {
		if c < 0x80 && (unicode.IsLetter(c) || unicode.IsDigit(c) || strings.ContainsRune("-_.", c)) {
			return c
		}
		return '-'
	}, name)
	if strings.HasPrefix(key, "..") { // Kubernetes keeps such names for itself
		key = "--" + key[2:]
	}
	return path.Join(dir, key), name != "." && name != ".." && name != "/"
}
