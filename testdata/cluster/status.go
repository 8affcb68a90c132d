package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// runningStatus returns the status of pod as its kubelet reports it when all
// containers run and are ready.
func runningStatus(pod *corev1.Pod) corev1.PodStatus {
	now := metav1.Now()
	status := *pod.Status.DeepCopy()
	status.Phase = corev1.PodRunning
	status.ObservedGeneration = pod.Generation
	status.StartTime = &now
	status.HostIP = "192.0.2.10"
	status.HostIPs = []corev1.HostIP{{IP: status.HostIP}}
	status.PodIP = podIP(pod)
	status.PodIPs = []corev1.PodIP{{IP: status.PodIP}}
	status.Conditions = podConditions(pod, now, corev1.ConditionTrue, "")
	status.InitContainerStatuses = nil
	for _, container := range pod.Spec.InitContainers {
		status.InitContainerStatuses = append(status.InitContainerStatuses, containerStatus(pod, container, completed(pod, container, now)))
	}
	status.ContainerStatuses = nil
	for _, container := range pod.Spec.Containers {
		state := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}}
		status.ContainerStatuses = append(status.ContainerStatuses, containerStatus(pod, container, state))
	}
	return status
}

// succeededStatus returns the status of a running pod whose containers have
// all ended well.
func succeededStatus(pod *corev1.Pod) corev1.PodStatus {
	now := metav1.Now()
	status := *pod.Status.DeepCopy()
	status.Phase = corev1.PodSucceeded
	status.Conditions = podConditions(pod, now, corev1.ConditionFalse, "PodCompleted")
	for i, container := range pod.Spec.Containers {
		state := &status.ContainerStatuses[i]
		state.State = completed(pod, container, now)
		state.Ready = false
		state.Started = new(false)
	}
	return status
}

// failedStatus returns the status of a running pod whose containers have all ended
// with exit code 1.
func failedStatus(pod *corev1.Pod) corev1.PodStatus {
	status := succeededStatus(pod)
	status.Phase = corev1.PodFailed
	for i := range status.Conditions {
		if status.Conditions[i].Reason != "" {
			status.Conditions[i].Reason = "PodFailed"
		}
	}
	for i := range status.ContainerStatuses {
		ended := status.ContainerStatuses[i].State.Terminated
		ended.Reason, ended.ExitCode = "Error", 1
	}
	return status
}

// podConditions returns all conditions of a pod that is placed on a node.
func podConditions(pod *corev1.Pod, now metav1.Time, ready corev1.ConditionStatus, reason string) []corev1.PodCondition {
	var conditions []corev1.PodCondition
	for _, condition := range []struct {
		kind   corev1.PodConditionType
		status corev1.ConditionStatus
	}{
		{corev1.PodReadyToStartContainers, ready},
		{corev1.PodInitialized, corev1.ConditionTrue},
		{corev1.PodReady, ready},
		{corev1.ContainersReady, ready},
		{corev1.PodScheduled, corev1.ConditionTrue},
	} {
		conditions = append(conditions, corev1.PodCondition{
			Type:               condition.kind,
			Status:             condition.status,
			Reason:             reason,
			LastTransitionTime: now,
			ObservedGeneration: pod.Generation,
		})
	}
	return conditions
}

// containerStatus returns the status of a container of pod in state.
func containerStatus(pod *corev1.Pod, container corev1.Container, state corev1.ContainerState) corev1.ContainerStatus {
	return corev1.ContainerStatus{
		Name:        container.Name,
		State:       state,
		Ready:       true,
		Started:     new(state.Running != nil),
		Image:       container.Image,
		ImageID:     fmt.Sprintf("%s@sha256:%x", container.Image, sha256.Sum256([]byte(container.Image))),
		ContainerID: containerID(pod, container),
	}
}

// completed returns the state of a container that has just ended well.
func completed(pod *corev1.Pod, container corev1.Container, now metav1.Time) corev1.ContainerState {
	started := now
	if pod.Status.StartTime != nil {
		started = *pod.Status.StartTime
	}
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		Reason:      "Completed",
		StartedAt:   started,
		FinishedAt:  now,
		ContainerID: containerID(pod, container),
	}}
}

// containerID returns an ID that only this container of this pod has.
func containerID(pod *corev1.Pod, container corev1.Container) string {
	return fmt.Sprintf("containerd://%x", sha256.Sum256([]byte(string(pod.UID)+container.Name)))
}

// podIP returns an address for pod, almost always one of its own.
func podIP(pod *corev1.Pod) string {
	sum := sha256.Sum256([]byte(pod.UID))
	return fmt.Sprintf("10.%d.%d.%d", 128+sum[0]%64, sum[1], 1+sum[2]%254)
}

// makeNode makes sure that a ready node of the given name exists.
func makeNode(ctx context.Context, client kubernetes.Interface, name string) error {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name:   name,
		Labels: map[string]string{corev1.LabelHostname: name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64"},
	}}
	node, err := client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil // from an earlier run on the same data
	}
	if err != nil {
		return err
	}
	node.Status.Capacity = corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("16"),
		corev1.ResourceMemory: resource.MustParse("64Gi"),
		corev1.ResourcePods:   resource.MustParse("1000"),
	}
	node.Status.Allocatable = node.Status.Capacity
	node.Status.Conditions = []corev1.NodeCondition{{
		Type:               corev1.NodeReady,
		Status:             corev1.ConditionTrue,
		Reason:             "KubeletReady",
		Message:            "kubelet is posting ready status",
		LastHeartbeatTime:  metav1.NewTime(time.Now()),
		LastTransitionTime: metav1.NewTime(time.Now()),
	}}
	_, err = client.CoreV1().Nodes().UpdateStatus(ctx, node, metav1.UpdateOptions{})
	return err
}
