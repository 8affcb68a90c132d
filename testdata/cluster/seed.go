package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
)

// seedAtOnce is the number of objects per transaction, which is limited to 1.5 MB.
const seedAtOnce = 500

// writeLightPods writes the pods of "cluster pods N --light" before the server starts, because a request for each would
// take many times as long. Existing pods stay as they are.
func writeLightPods(ctx context.Context, etcd *etcdServer, count int) error {
	now := metav1.Now()
	for done := 0; done < count; done += seedAtOnce {
		stored := map[string][]byte{}
		for number := done + 1; number <= min(done+seedAtOnce, count); number++ {
			pod := lightPod(metav1.NamespaceDefault, number)
			pod.UID, pod.CreationTimestamp, pod.Generation = uuid.NewUUID(), now, 1
			pod.Status = corev1.PodStatus{Phase: corev1.PodPending, QOSClass: corev1.PodQOSBestEffort}
			key, value, err := asStored(pod)
			if err != nil {
				return fmt.Errorf("cannot make the pod %s: %w", pod.Name, err)
			}
			stored[key] = value
		}
		if err := etcd.create(ctx, stored); err != nil {
			return fmt.Errorf("cannot write the pods: %w", err)
		}
	}
	return nil
}
