package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/tools/clientcmd"

	"dwatch/mapper"
)

// targetFlags say what to watch.
type targetFlags struct {
	resources     []string
	exclude       []string
	namespaces    []string
	allNamespaces bool
	selector      string
	fieldSelector string
	about         string
	wait          bool
}

func (o *options) addTargetFlags(f *pflag.FlagSet) {
	f.StringArrayVarP(&o.resources, "resource", "r", nil, "`RESOURCE` or RESOURCE/NAME, or several, separated by commas (repeatable); '*' is all that can be watched")
	f.StringSliceVar(&o.exclude, "exclude", nil, "Leave out `RESOURCE`, where '*' or a category would have it (repeatable, commas)")
	f.StringSliceVarP(&o.namespaces, "namespace", "n", nil, "`NAMESPACE` to watch in (repeatable, commas); by default that of the kubeconfig context")
	f.BoolVarP(&o.allNamespaces, "all-namespaces", "A", false, "Watch in all namespaces, whatever -n says")
	f.StringVarP(&o.selector, "selector", "l", "", "Label `SELECTOR`, e.g. app=web,tier!=cache")
	f.StringVar(&o.fieldSelector, "field-selector", "", "Field `SELECTOR`, e.g. status.phase=Running; the server knows few fields of each type")
	o.addAboutFlag(f)
	f.BoolVar(&o.wait, "wait", false, "Wait for a resource that the server does not have yet")
	notEmpty(f, "exclude", "namespace", "for")
}

// parseTargets also takes what is named without a flag.
func (o *options) parseTargets(r *request, args []string) (err error) {
	r.exclude, r.wait = o.exclude, o.wait
	r.allNamespaces = o.allNamespaces
	r.selector, r.fieldSelector = o.selector, o.fieldSelector
	if r.arguments, err = mapper.ParseArguments(o.resources, args); err != nil {
		return err
	}
	if r.namespaces, err = parseNamespaces(o.namespaces); err != nil {
		return err
	}
	if r.about, err = o.parseAbout(); err != nil {
		return err
	}
	return o.checkSelectors(r.arguments)
}

func parseNamespaces(given []string) ([]string, error) {
	var namespaces []string
	for _, n := range given {
		n, err := clientcmd.RemoveNamespacesPrefix(strings.TrimSpace(n))
		if err != nil {
			return nil, err
		}
		if wrong := validation.IsDNS1123Label(n); len(wrong) > 0 {
			return nil, fmt.Errorf("invalid namespace %q: %s", n, wrong[0])
		}
		if !slices.Contains(namespaces, n) {
			namespaces = append(namespaces, n)
		}
	}
	return namespaces, nil
}

func (o *options) checkSelectors(arguments []mapper.Argument) error {
	if _, err := labels.Parse(o.selector); err != nil {
		return fmt.Errorf("invalid label selector %q: %w", o.selector, err)
	}
	if _, err := fields.ParseSelector(o.fieldSelector); err != nil {
		return fmt.Errorf("invalid field selector %q: %w", o.fieldSelector, err)
	}
	named := slices.ContainsFunc(arguments, func(a mapper.Argument) bool { return a.Name != "" })
	if named && (o.selector != "" || o.fieldSelector != "") {
		return fmt.Errorf("name cannot be provided when a selector is specified")
	}
	return nil
}
