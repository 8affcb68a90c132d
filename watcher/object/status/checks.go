package status

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"dwatch/watcher/object/reason"
)

// checks judge built-in kinds that kstatus knows too little about. An empty word leaves the answer to kstatus.
var checks = map[schema.GroupKind]func(*unstructured.Unstructured) (status.Status, string){
	{Kind: "Service"}: service,
	{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}:                         autoscaler,
	{Group: "networking.k8s.io", Kind: "Ingress"}:                                   ingress,
	{Group: "extensions", Kind: "Ingress"}:                                          ingress,
	{Group: "batch", Kind: "CronJob"}:                                               cronJob,
	{Group: "policy", Kind: "PodDisruptionBudget"}:                                  budget,
	{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}:               definition,
	{Group: "apiregistration.k8s.io", Kind: "APIService"}:                           apiService,
	{Group: "admissionregistration.k8s.io", Kind: "MutatingWebhookConfiguration"}:   webhooks,
	{Group: "admissionregistration.k8s.io", Kind: "ValidatingWebhookConfiguration"}: webhooks,
}

// service returns the state of a Service of type LoadBalancer, which needs an address.
func service(u *unstructured.Unstructured) (status.Status, string) {
	if text(u.Object, "spec", "type") != "LoadBalancer" || hasAddress(u) {
		return "", ""
	}
	return status.InProgressStatus, "the load balancer has no address yet"
}

func ingress(u *unstructured.Unstructured) (status.Status, string) {
	if hasAddress(u) {
		return "", ""
	}
	return status.InProgressStatus, "no ingress controller has set an address yet"
}

func hasAddress(u *unstructured.Unstructured) bool {
	all, _ := field(u.Object, "status", "loadBalancer", "ingress").([]any)
	return len(all) > 0
}

// autoscaler returns the state of a HorizontalPodAutoscaler. Its controller always reports whether it can scale.
func autoscaler(u *unstructured.Unstructured) (status.Status, string) {
	wrong := reason.Of(u).Text
	switch {
	case reason.Condition(u, "AbleToScale") == nil:
		return status.InProgressStatus, u.GetKind() + " " + unobserved
	case wrong != "":
		return status.InProgressStatus, wrong
	}
	return status.CurrentStatus, ""
}

// cronJob returns Failed if the last scheduled Job has ended and did not succeed. The controller sets
// lastSuccessfulTime when a Job succeeds. A CronJob without any successful Job counts as Current.
func cronJob(u *unstructured.Unstructured) (status.Status, string) {
	active, _ := field(u.Object, "status", "active").([]any)
	scheduled, err := time.Parse(time.RFC3339, text(u.Object, "status", "lastScheduleTime"))
	succeeded, missing := time.Parse(time.RFC3339, text(u.Object, "status", "lastSuccessfulTime"))
	if len(active) > 0 || err != nil || missing != nil || !succeeded.Before(scheduled) {
		return "", ""
	}
	return status.FailedStatus, fmt.Sprintf("the job scheduled at %s did not succeed", scheduled.UTC().Format(time.RFC3339))
}

// budget returns Failed if the controller cannot compute a PodDisruptionBudget.
func budget(u *unstructured.Unstructured) (status.Status, string) {
	conditions, _ := field(u.Object, "status", "conditions").([]any)
	for _, one := range conditions {
		c, _ := one.(map[string]any)
		if text(c, "type") == "DisruptionAllowed" && text(c, "status") == "False" && text(c, "reason") == "SyncFailed" {
			return status.FailedStatus, reason.Because(c)
		}
	}
	return "", ""
}

// definition returns the state of a CustomResourceDefinition.
func definition(u *unstructured.Unstructured) (status.Status, string) {
	for _, failure := range []struct{ condition, is string }{{"NamesAccepted", "False"}, {"NonStructuralSchema", "True"}} {
		if c := reason.Condition(u, failure.condition); c["status"] == failure.is {
			return status.FailedStatus, failure.condition + " is " + failure.is + ": " + reason.Because(c)
		}
	}
	if !isTrue(u, "Established") {
		return status.InProgressStatus, "not established yet"
	}
	return status.CurrentStatus, ""
}

func apiService(u *unstructured.Unstructured) (status.Status, string) {
	switch available := reason.Condition(u, "Available"); available["status"] {
	case "True":
		return status.CurrentStatus, ""
	case "False":
		return status.FailedStatus, reason.Because(available)
	}
	return status.InProgressStatus, "not available yet"
}

// webhooks returns the state of a webhook configuration. The API server cannot call a webhook in the cluster without a
// CA bundle, which a controller often adds later.
func webhooks(u *unstructured.Unstructured) (status.Status, string) {
	all, _ := u.Object["webhooks"].([]any)
	for _, one := range all {
		w, _ := one.(map[string]any)
		if field(w, "clientConfig", "service") != nil && text(w, "clientConfig", "caBundle") == "" {
			return status.InProgressStatus, "webhook " + text(w, "name") + " has no CA bundle"
		}
	}
	return "", ""
}
