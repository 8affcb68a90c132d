package manifest

import (
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"
)

// values are what the chart takes, as far as it depends on the run: its values.yaml says what
// each of them is, and has all else.
type values struct {
	Name     string         `json:"fullnameOverride"`
	Replicas int            `json:"replicas,omitempty"`
	Image    image          `json:"image"`
	Args     []string       `json:"args"`
	Rules    []any          `json:"rules,omitempty"`
	Secret   string         `json:"existingSecret,omitempty"`
	Ports    map[string]int `json:"ports"`
	Volume   volume         `json:"persistence"`
	Rights   rights         `json:"rbac"`
	Policy   policy         `json:"networkPolicy"`
	Resource resources      `json:"resources"`
	Grace    int            `json:"terminationGracePeriodSeconds"`
}

type image struct {
	Repository string `json:"repository"`
	Tag        string `json:"tag,omitempty"`
	Digest     string `json:"digest,omitempty"`
}

type volume struct {
	Enabled bool     `json:"enabled"`
	Size    string   `json:"size,omitempty"`
	PerPod  bool     `json:"perPod,omitempty"`
	Modes   []string `json:"accessModes,omitempty"`
}

type rights struct {
	Roles []Role `json:"roles"`
}

type policy struct {
	Egress []any `json:"egress"`
}

type resources struct {
	Limits struct {
		Memory string `json:"memory"`
	} `json:"limits"`
}

// Values are those of the chart with which it makes the same objects, in YAML.
func (r Workload) Values() (File, error) {
	text, err := yaml.Marshal(r.values())
	head := fmt.Sprintf("# Of the chart of dwatch: helm install %s CHART --namespace %s --values FILE\n", r.Name, r.Namespace)
	return File{"values.yaml", append([]byte(head), text...)}, err
}

func (r Workload) values() values {
	v := values{
		Name: r.Name, Image: imageOf(r.Image), Rules: r.Rules, Ports: map[string]int{}, Volume: volume{Enabled: r.VolumeSize != "", Size: r.VolumeSize},
		Rights: rights{r.Roles}, Policy: policy{[]any{}}, Grace: r.GraceSeconds,
	}
	v.Replicas, v.Volume.PerPod = r.Replicas, r.VolumePerPod && v.Volume.Enabled
	if r.Replicas > 1 && v.Volume.Enabled && !r.VolumePerPod {
		v.Volume.Modes = []string{"ReadWriteMany"}
	}
	for _, text := range r.Args {
		v.Args = append(v.Args, argument(text))
	}
	if r.MountsSecrets {
		v.Secret = r.Name
	}
	for _, p := range r.Ports {
		v.Ports[p.Name] = p.Number
	}
	for _, p := range r.Egress {
		v.Policy.Egress = append(v.Policy.Egress, p)
	}
	v.Resource.Limits.Memory = r.MemoryLimit
	return v
}

// imageOf takes the name of an image apart, as all do that pull one.
func imageOf(name string) (i image) {
	name, i.Digest, _ = strings.Cut(name, "@")
	if at := strings.LastIndexByte(name, ':'); at > strings.LastIndexByte(name, '/') {
		name, i.Tag = name[:at], name[at+1:]
	}
	i.Repository = name
	return i
}

// argument is one of a container: Kubernetes puts variables into what has $(NAME), but not where the
// sign is doubled.
func argument(text string) string { return strings.ReplaceAll(text, "$", "$$") }
