package manifest

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"
)

// values are the values of the chart that depend on the command line. values.yaml of the chart explains them, and
// contains the defaults of all values.
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

	PodMonitor     *monitor `json:"podMonitor,omitempty"`
	PrometheusRule *monitor `json:"prometheusRule,omitempty"`
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
	Requests map[string]string `json:"requests,omitempty"`
	Limits   struct {
		Memory string `json:"memory"`
	} `json:"limits"`
}

// Values returns the values, as YAML, with which the chart renders the same objects.
func (r Workload) Values() (File, error) {
	text, err := yaml.Marshal(r.values())
	head := fmt.Sprintf("# Values of dwatch's chart: helm install %s CHART --namespace %s --values FILE\n", r.Name, r.Namespace)
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
	v.Resource.Requests = r.requests()
	if r.Monitoring {
		v.PodMonitor, v.PrometheusRule = &monitor{true}, &monitor{true}
	}
	return v
}

// chartMemory is the request for memory in the chart's values. A smaller limit needs a smaller request.
var chartMemory = resource.MustParse("64Mi")

// requests are the requests that differ from the chart's.
func (r Workload) requests() map[string]string {
	requests := map[string]string{}
	if r.CPURequest != "" {
		requests["cpu"] = r.CPURequest
	}
	if limit, err := resource.ParseQuantity(r.MemoryLimit); err == nil && limit.Cmp(chartMemory) < 0 {
		requests["memory"] = r.MemoryLimit
	}
	return requests
}

// monitor enables an object of the Prometheus Operator.
type monitor struct {
	Enabled bool `json:"enabled"`
}

// imageOf splits an image reference in the same way as container runtimes.
func imageOf(name string) (i image) {
	name, i.Digest, _ = strings.Cut(name, "@")
	if at := strings.LastIndexByte(name, ':'); at > strings.LastIndexByte(name, '/') {
		name, i.Tag = name[:at], name[at+1:]
	}
	i.Repository = name
	return i
}

// argument escapes an argument of a container: Kubernetes expands $(NAME), unless the $ is doubled.
func argument(text string) string { return strings.ReplaceAll(text, "$", "$$") }
