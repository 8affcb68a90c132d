package main

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// bulkLabel marks the pods that "cluster pods" makes and "cluster churn" finds.
const bulkLabel = "dwatch.test/bulk"

// bulkPod returns the pod with the given number, without a status. Its node is
// one that no stand-in looks after. Its grace period is 0, since with no
// kubelet to end it a deletion would otherwise never finish.
func bulkPod(namespace string, number int) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name:      fmt.Sprintf("pod-%05d", number),
			Namespace: namespace,
			Labels: map[string]string{
				bulkLabel:                      "true",
				"app.kubernetes.io/name":       "shop",
				"app.kubernetes.io/component":  fmt.Sprintf("component-%d", number%7),
				"app.kubernetes.io/instance":   fmt.Sprintf("shop-%d", number%50),
				"app.kubernetes.io/managed-by": "helm",
				"pod-template-hash":            fmt.Sprintf("%08x", number%50*7919),
			},
			Annotations: map[string]string{
				"checksum/config":      strings.Repeat(fmt.Sprintf("%08x", number%50*104729), 8),
				"prometheus.io/scrape": "true",
				"prometheus.io/port":   "9102",
				"example.com/owner":    "the team that looks after the shop and its carts",
			},
		},
		Spec: corev1.PodSpec{
			NodeName:                      fmt.Sprintf("bulk-node-%03d", number%100),
			ServiceAccountName:            "shop",
			TerminationGracePeriodSeconds: new(int64(0)),
			Containers:                    []corev1.Container{withProbes(bulkContainer("server", 6)), bulkContainer("metrics", 1)},
			Volumes:                       bulkVolumes(),
			Tolerations: []corev1.Toleration{
				{Key: "node.kubernetes.io/not-ready", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(300))},
				{Key: "node.kubernetes.io/unreachable", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(300))},
			},
		},
	}
}

// lightPod returns a pod with the given number that is as small as pods can be.
func lightPod(namespace string, number int) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name:      fmt.Sprintf("pod-%05d", number),
			Namespace: namespace,
			Labels:    map[string]string{bulkLabel: "true"},
		},
		Spec: corev1.PodSpec{
			NodeName:                      fmt.Sprintf("bulk-node-%03d", number%100),
			TerminationGracePeriodSeconds: new(int64(0)),
			AutomountServiceAccountToken:  new(false),
			Containers:                    []corev1.Container{{Name: "server", Image: "registry.example.com/shop/server:2.14.3"}},
		},
	}
}

// bulkContainer returns a container with some environment variables.
func bulkContainer(name string, variables int) corev1.Container {
	container := corev1.Container{
		Name:  name,
		Image: "registry.example.com/shop/" + name + ":2.14.3",
		Args:  []string{"--config=/etc/shop/config.yaml", "--log-format=json", "--log-level=info"},
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("128Mi")},
			Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("512Mi")},
		},
		VolumeMounts: []corev1.VolumeMount{
			{Name: "config", MountPath: "/etc/shop", ReadOnly: true},
			{Name: "token", MountPath: "/var/run/secrets/kubernetes.io/serviceaccount", ReadOnly: true},
		},
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: new(false),
			ReadOnlyRootFilesystem:   new(true),
			RunAsNonRoot:             new(true),
			Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
	}
	for i := range variables {
		container.Env = append(container.Env, corev1.EnvVar{
			Name:  fmt.Sprintf("SHOP_SETTING_%02d", i),
			Value: fmt.Sprintf("value-%02d.shop.svc.cluster.local", i),
		})
	}
	return container
}

// withProbes adds a port and probes on it to a container.
func withProbes(container corev1.Container) corev1.Container {
	probe := func(path string) *corev1.Probe {
		return &corev1.Probe{
			ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromString("http")}},
			PeriodSeconds: 10,
		}
	}
	container.Ports = []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}}
	container.LivenessProbe, container.ReadinessProbe = probe("/live"), probe("/ready")
	return container
}

// bulkVolumes returns the volumes that bulkContainer mounts.
func bulkVolumes() []corev1.Volume {
	return []corev1.Volume{
		{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: "shop"},
		}}},
		{Name: "token", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
			Sources: []corev1.VolumeProjection{
				{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: new(int64(3607))}},
				{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"}}},
			},
		}}},
	}
}
