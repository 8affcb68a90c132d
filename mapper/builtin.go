package mapper

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NewBuiltin returns a Mapper for common resources that every Kubernetes server has. It makes no requests. Other resources
// are unknown to it, such as custom resources, and so are categories.
func NewBuiltin() *Mapper {
	var resources []metav1.APIResource
	for line := range strings.Lines(builtin) {
		words := strings.Fields(line)
		group, version, _ := strings.Cut(words[0], "/")
		if version == "" {
			group, version = "", group
		}
		r := metav1.APIResource{Group: group, Version: version, Name: words[1], Kind: words[2], SingularName: strings.ToLower(words[2]), Namespaced: words[3] == "namespaced"}
		if len(words) > 4 {
			r.ShortNames = strings.Split(words[4], ",")
		}
		resources = append(resources, r)
	}
	return NewFixed(resources)
}

// builtin has a line for each resource: API version, plural, kind, scope, short names. The order decides between equal names.
const builtin = `v1 pods Pod namespaced po
v1 services Service namespaced svc
v1 configmaps ConfigMap namespaced cm
v1 secrets Secret namespaced
v1 namespaces Namespace cluster ns
v1 nodes Node cluster no
v1 events Event namespaced ev
v1 endpoints Endpoints namespaced ep
v1 serviceaccounts ServiceAccount namespaced sa
v1 persistentvolumeclaims PersistentVolumeClaim namespaced pvc
v1 persistentvolumes PersistentVolume cluster pv
v1 replicationcontrollers ReplicationController namespaced rc
v1 resourcequotas ResourceQuota namespaced quota
v1 limitranges LimitRange namespaced limits
v1 podtemplates PodTemplate namespaced
apps/v1 deployments Deployment namespaced deploy
apps/v1 replicasets ReplicaSet namespaced rs
apps/v1 statefulsets StatefulSet namespaced sts
apps/v1 daemonsets DaemonSet namespaced ds
apps/v1 controllerrevisions ControllerRevision namespaced
batch/v1 jobs Job namespaced
batch/v1 cronjobs CronJob namespaced cj
autoscaling/v2 horizontalpodautoscalers HorizontalPodAutoscaler namespaced hpa
networking.k8s.io/v1 ingresses Ingress namespaced ing
networking.k8s.io/v1 ingressclasses IngressClass cluster
networking.k8s.io/v1 networkpolicies NetworkPolicy namespaced netpol
policy/v1 poddisruptionbudgets PodDisruptionBudget namespaced pdb
rbac.authorization.k8s.io/v1 roles Role namespaced
rbac.authorization.k8s.io/v1 rolebindings RoleBinding namespaced
rbac.authorization.k8s.io/v1 clusterroles ClusterRole cluster
rbac.authorization.k8s.io/v1 clusterrolebindings ClusterRoleBinding cluster
storage.k8s.io/v1 storageclasses StorageClass cluster sc
storage.k8s.io/v1 volumeattachments VolumeAttachment cluster
storage.k8s.io/v1 csidrivers CSIDriver cluster
storage.k8s.io/v1 csinodes CSINode cluster
storage.k8s.io/v1 csistoragecapacities CSIStorageCapacity namespaced
scheduling.k8s.io/v1 priorityclasses PriorityClass cluster pc
coordination.k8s.io/v1 leases Lease namespaced
discovery.k8s.io/v1 endpointslices EndpointSlice namespaced
node.k8s.io/v1 runtimeclasses RuntimeClass cluster
certificates.k8s.io/v1 certificatesigningrequests CertificateSigningRequest cluster csr
admissionregistration.k8s.io/v1 mutatingwebhookconfigurations MutatingWebhookConfiguration cluster
admissionregistration.k8s.io/v1 validatingwebhookconfigurations ValidatingWebhookConfiguration cluster
apiextensions.k8s.io/v1 customresourcedefinitions CustomResourceDefinition cluster crd,crds
apiregistration.k8s.io/v1 apiservices APIService cluster`
