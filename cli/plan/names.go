package plan

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/validation"
)

// subdomains are built-in resources whose object names must be DNS subdomains. The names of other
// resources can be nearly anything. RBAC allows "system:node" and "some words", PodDisruptionBudgets
// are not checked, an IPAddress has a name such as "fd00::1", and an APIService "v1.". Aggregated API
// servers have their own rules.
var subdomains = map[string][]string{
	"": {
		"configmaps", "endpoints", "limitranges", "namespaces", "nodes", "persistentvolumeclaims", "persistentvolumes", "pods",
		"podtemplates", "replicationcontrollers", "resourcequotas", "secrets", "serviceaccounts", "services",
	},
	"apiextensions.k8s.io": {"customresourcedefinitions"},
	"apps":                 {"controllerrevisions", "daemonsets", "deployments", "replicasets", "statefulsets"},
	"autoscaling":          {"horizontalpodautoscalers"},
	"batch":                {"cronjobs", "jobs"},
	"coordination.k8s.io":  {"leases"},
	"discovery.k8s.io":     {"endpointslices"},
	"networking.k8s.io":    {"ingressclasses", "ingresses", "networkpolicies"},
	"scheduling.k8s.io":    {"priorityclasses"},
	"storage.k8s.io":       {"storageclasses", "volumeattachments"},
}

// checkName records a mistake if no object of any of the resources can have this name. Otherwise dwatch
// would wait for it forever.
func (d *draft) checkName(name string, mappings []*meta.RESTMapping) {
	wrong := validation.IsDNS1123Subdomain(name)
	if name == "" || len(mappings) == 0 || len(wrong) == 0 {
		return
	}
	for _, m := range mappings {
		if r := m.Resource; !slices.Contains(subdomains[r.Group], r.Resource) {
			return
		}
	}
	d.addMistake(fmt.Errorf("invalid name %q for %s: %s", name, mappings[0].Resource.GroupResource(), wrong[0]))
}
