// Package manifest renders the manifests that run dwatch in a cluster, with comments that explain them. It does not
// contact a server and does not depend on flags.
package manifest

import (
	"bytes"
	"fmt"
	"path"
	"strings"
	"unicode"

	"sigs.k8s.io/yaml"
)

// Directories in the pod: the volume for state, and mounted files.
const (
	StateDir  = "/var/lib/dwatch"
	SecretDir = "/etc/dwatch"
	RulesDir  = "/etc/dwatch-rules"
)

// RulesFile is the path of the rules in the pod.
const RulesFile = RulesDir + "/rules.yaml"

// MetricsPort is the default port of --listen, for probes and Prometheus.
const MetricsPort = 9090

// Workload describes the pods that run dwatch. Its fields are independent settings.
type Workload struct {
	Name, Namespace string // the name and namespace of all objects except the roles
	Image           string
	Args            []string // the arguments of the container
	Roles           []Role   // the permissions of the service account
	Ports           []Port   // the ports that the pod listens on; the port of the metrics is called metrics
	Egress          []Peer   // the allowed connections; nil allows all
	Rules           []any    // the rules at RulesFile; empty means no rules
	MountsSecrets   bool     // arguments name files below SecretDir, from the Secret called Name
	Replicas        int      // the number of pods; 0 means 1. With more, Args elect a leader or give each pod a shard.
	VolumePerPod    bool     // each pod has its own volume
	VolumeSize      string   // the size of the volume at StateDir, a quantity; if empty, there is no volume
	MemoryLimit     string   // a quantity
	CPURequest      string   // a quantity; if empty, the chart's
	GraceSeconds    int      // the termination grace period
	Monitoring      bool     // adds a PodMonitor and a PrometheusRule
}

// Types of the Prometheus Operator.
const (
	PodMonitor     = "monitoring.coreos.com/v1/PodMonitor"
	PrometheusRule = "monitoring.coreos.com/v1/PrometheusRule"
)

// Role is a set of permissions in a namespace, or in the whole cluster if Namespace is empty.
type Role struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace,omitempty"`
	Rules     any    `json:"rules"`
}

// Port is a named port that the pod listens on.
type Port struct {
	Name   string
	Number int
}

// File is a file with the manifest of one or several objects.
type File struct {
	Name string
	Text []byte
}

// Files returns the manifests in the order for kubectl apply.
func (r Workload) Files() ([]File, error) {
	c, err := newRenderer(r)
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

// EncodeYAML returns the objects as YAML documents.
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

// JoinFiles returns the text of all files as one.
func JoinFiles(files []File) []byte {
	var texts [][]byte
	for _, f := range files {
		texts = append(texts, f.Text)
	}
	return bytes.Join(texts, []byte("---\n"))
}

// NewKustomization returns the kustomization.yaml of a base with files.
func NewKustomization(files []File) File {
	text := "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n"
	for _, f := range files {
		text += "  - " + f.Name + "\n"
	}
	return File{"kustomization.yaml", []byte(text)}
}

// MountPath returns the path of a local file below dir in the pod. It is the last element of the local path, with only
// the characters that a key of a Secret may contain. named is false if the local path does not end in a file name.
func MountPath(dir, file string) (at string, named bool) {
	name := path.Base(strings.ReplaceAll(file, `\`, "/"))
	key := strings.Map(func(c rune) rune {
		if c < 0x80 && (unicode.IsLetter(c) || unicode.IsDigit(c) || strings.ContainsRune("-_.", c)) {
			return c
		}
		return '-'
	}, name)
	if strings.HasPrefix(key, "..") { // Kubernetes does not allow such keys
		key = "--" + key[2:]
	}
	return path.Join(dir, key), name != "." && name != ".." && name != "/"
}
