package flags

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Manifests holds the flags of dwatch manifests: how dwatch runs in a cluster.
type Manifests struct {
	Image        string
	Name         string // the name of all generated objects
	Namespace    string // the namespace to run in
	KustomizeDir string // a new directory for a kustomize base; if empty, YAML goes to stdout
	HelmValues   bool   // print values for the Helm chart instead of objects
	VolumePerPod bool   // give each pod its own volume
	Monitoring   bool   // add a PodMonitor and a PrometheusRule
	// APIServerPorts are the ports of the API servers, to which the pods may connect.
	APIServerPorts []int
	// Memory is the limit of the container, and CPU its request. If empty, they are calculated or the chart's.
	Memory, CPU string
}

func (m *Manifests) AddTo(f *pflag.FlagSet) {
	f.StringVar(&m.Image, "image", "", "Run the container `IMAGE` of dwatch (required); see docs/contributing/releasing.md for how to build it")
	f.StringVar(&m.Name, "name", "dwatch", "Name all objects and the mounted Secret `NAME`")
	f.StringVar(&m.Namespace, "into", "dwatch", "Run in `NAMESPACE`, which must exist; -n selects what to watch")
	f.StringVar(&m.KustomizeDir, "kustomize", "", "Write a kustomize base into a new `DIRECTORY` instead of YAML to stdout")
	f.BoolVar(&m.HelmValues, "helm-values", false, "Print the values with which dwatch's Helm chart creates the same objects")
	f.BoolVar(&m.VolumePerPod, "volume-per-pod", false, "With --lease, give each pod its own volume instead of a shared one")
	f.BoolVar(&m.Monitoring, "monitoring", false, "Add a PodMonitor and a PrometheusRule for the Prometheus Operator")
	f.IntSliceVar(&m.APIServerPorts, "api-port", []int{443, 6443}, "Let the pods reach the API servers at `PORT` (repeatable)")
	f.StringVar(&m.Memory, "memory", "", "Limit the memory of a pod to `SIZE`, e.g. 512Mi; by default, the size depends on the command line")
	f.StringVar(&m.CPU, "cpu", "", "Request `CPU` for a pod, e.g. 200m; by default 50m")
	notEmpty(f, "image", "name", "into", "kustomize", "memory", "cpu")
}

// imageName matches image references as container runtimes accept them: [REGISTRY/]NAME[:TAG][@DIGEST].
var imageName = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]+)?/)?` + imagePart + `(/` + imagePart + `)*(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(@[a-z0-9+._-]+:[0-9a-fA-F]{32,})?$`)

const imagePart = `[a-z0-9]+((\.|_{1,2}|-+)[a-z0-9]+)*`

// longestName is the length of the longest --name. Kubernetes appends a hash to the name of a StatefulSet in a
// label of its pods, which has at most 63 characters. With a longer name, no pod can be created.
const longestName = 52

// Parse returns an error for missing or invalid values.
func (m *Manifests) Parse() error {
	if m.Image == "" {
		return errors.New("give the image of dwatch with --image REGISTRY/NAME:TAG; see docs/contributing/releasing.md for how to build it")
	}
	switch {
	case m.HelmValues && m.KustomizeDir != "":
		return errors.New("--helm-values cannot be combined with --kustomize")
	case !imageName.MatchString(m.Image):
		return fmt.Errorf("invalid --image %q: it takes the name of an image, such as registry.example.com/dwatch:v1", m.Image)
	case len(m.Name) > longestName:
		return fmt.Errorf("invalid --name %q: it takes at most %d characters, as Kubernetes appends to it", m.Name, longestName)
	}
	invalid := func(flag, text string, wrong []string) error {
		if len(wrong) == 0 {
			return nil
		}
		return fmt.Errorf("invalid --%s %q: %s", flag, text, wrong[0])
	}
	for _, port := range m.APIServerPorts {
		if port < 1 || port > 65535 {
			return fmt.Errorf("invalid --api-port %d: it takes a port, such as 6443", port)
		}
	}
	for _, q := range []struct{ flag, text string }{{"memory", m.Memory}, {"cpu", m.CPU}} {
		if n, err := resource.ParseQuantity(q.text); q.text != "" && (err != nil || n.Sign() <= 0) {
			return fmt.Errorf("invalid --%s %q: it takes a quantity, such as 512Mi of memory or 200m of CPU", q.flag, q.text)
		}
	}
	// The name of a Service has the strictest rules.
	return cmp.Or(invalid("name", m.Name, validation.IsDNS1035Label(m.Name)), invalid("into", m.Namespace, validation.IsDNS1123Label(m.Namespace)))
}

// IsFileValue reports whether value is the path of a file. The help text of such a flag calls its value FILE. Some
// of these flags also accept fixed words.
func IsFileValue(f *pflag.Flag, value string) bool {
	what, _ := pflag.UnquoteUsage(f)
	return what == "FILE" && !slices.Contains(CompletionValues(f), value)
}
