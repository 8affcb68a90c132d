package plan

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/validation"
)

// subdomains are resources of Kubernetes whose objects have DNS subdomains for
// names. Others may have nearly anything: RBAC takes "system:node" and "some words",
// a PodDisruptionBudget's is not checked, an IPAddress is called "fd00::1", an
// APIService "v1.", and what an aggregated API server allows only that knows.
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

// checkName notes it as a mistake if no object of any of the resources can have
// name: it would be waited for without end.
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
	d.mistake(fmt.Errorf("invalid name %q for %s: %s", name, mappings[0].Resource.GroupResource(), wrong[0]))
}
