package main

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// jobRuntime is how long the pod of a job runs before it succeeds, or fails.
const jobRuntime = time.Second

// nodeNames are the nodes of the stand-in. It runs only pods on these, so that
// the pods made by "cluster pods" keep the status they were given.
var nodeNames = []string{"node-1", "node-2"}

// kubelets stands in for the scheduler and the kubelets: it places pods on
// nodes, reports them as running, and finishes their deletion.
type kubelets struct {
	client kubernetes.Interface
	pods   listers.PodLister
	queue  workqueue.TypedRateLimitingInterface[cache.ObjectName]
}

// startKubelets makes the nodes, and runs the stand-in until running ends.
func startKubelets(ctx, running context.Context, endpoint *endpoint) error {
	client, err := kubernetes.NewForConfig(endpoint.restConfig(userControllers, "kubelet"))
	if err != nil {
		return err
	}
	for _, name := range nodeNames {
		if err := makeNode(ctx, client, name); err != nil {
			return fmt.Errorf("cannot make node %s: %w", name, err)
		}
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	k := &kubelets{
		client: client,
		pods:   factory.Core().V1().Pods().Lister(),
		queue:  workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[cache.ObjectName]()),
	}
	enqueue := func(obj any) {
		if name, err := cache.ObjectToName(obj); err == nil {
			k.queue.Add(name)
		}
	}
	if _, err := factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    enqueue,
		UpdateFunc: func(_, pod any) { enqueue(pod) },
	}); err != nil {
		return err
	}
	factory.Start(running.Done())
	for range 4 {
		go k.work(running)
	}
	context.AfterFunc(running, k.queue.ShutDown)
	return nil
}

// work takes care of one pod after the other until the queue shuts down.
func (k *kubelets) work(ctx context.Context) {
	for {
		name, shutdown := k.queue.Get()
		if shutdown {
			return
		}
		err := k.sync(ctx, name)
		if err == nil || apierrors.IsNotFound(err) {
			k.queue.Forget(name)
		} else {
			k.queue.AddRateLimited(name)
		}
		k.queue.Done(name)
	}
}

// sync takes the one step that brings a pod forward; the event it causes
// leads to the next one.
func (k *kubelets) sync(ctx context.Context, name cache.ObjectName) error {
	pod, err := k.pods.Pods(name.Namespace).Get(name.Name)
	if err != nil {
		return err
	}
	switch {
	case pod.DeletionTimestamp != nil:
		now := *metav1.NewDeleteOptions(0)
		now.Preconditions = metav1.NewUIDPreconditions(string(pod.UID))
		return k.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, now)
	case pod.Spec.NodeName == "":
		return k.client.CoreV1().Pods(pod.Namespace).Bind(ctx, &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Name: pod.Name, UID: pod.UID},
			Target:     corev1.ObjectReference{Kind: "Node", Name: chooseNode(pod)},
		}, metav1.CreateOptions{})
	case !isOurs(pod):
		return nil
	case pod.Status.Phase == corev1.PodPending:
		return k.report(ctx, pod, runningStatus(pod))
	case pod.Status.Phase == corev1.PodRunning && belongsToJob(pod):
		if left := jobRuntime - time.Since(pod.Status.StartTime.Time); left > 0 {
			k.queue.AddAfter(name, left)
			return nil
		}
		if runsFalse(pod) {
			return k.report(ctx, pod, failedStatus(pod))
		}
		return k.report(ctx, pod, succeededStatus(pod))
	}
	return nil
}

// report writes the status of a pod.
func (k *kubelets) report(ctx context.Context, pod *corev1.Pod, status corev1.PodStatus) error {
	pod = pod.DeepCopy() // the informer's cache is not ours to change
	pod.Status = status
	_, err := k.client.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	return err
}

// chooseNode returns the node that a pod of a DaemonSet is meant for, and for
// any other pod always the same one.
func chooseNode(pod *corev1.Pod) string {
	if affinity := pod.Spec.Affinity; affinity != nil && affinity.NodeAffinity != nil {
		if required := affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution; required != nil {
			for _, term := range required.NodeSelectorTerms {
				for _, field := range term.MatchFields {
					if field.Key == metav1.ObjectNameField && len(field.Values) == 1 {
						return field.Values[0]
					}
				}
			}
		}
	}
	hash := fnv.New32a()
	hash.Write([]byte(pod.UID))
	return nodeNames[hash.Sum32()%uint32(len(nodeNames))]
}

// isOurs tells whether a pod is placed on a node of the stand-in.
func isOurs(pod *corev1.Pod) bool {
	for _, name := range nodeNames {
		if pod.Spec.NodeName == name {
			return true
		}
	}
	return false
}

// belongsToJob tells whether a pod is controlled by a Job.
func belongsToJob(pod *corev1.Pod) bool {
	owner := metav1.GetControllerOf(pod)
	return owner != nil && owner.Kind == "Job"
}

// runsFalse tells whether a pod runs the program false, which fails.
func runsFalse(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool {
		return len(c.Command) == 1 && c.Command[0] == "false"
	})
}
