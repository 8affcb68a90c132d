package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/scale"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/cronjob"
	"k8s.io/kubernetes/pkg/controller/daemon"
	"k8s.io/kubernetes/pkg/controller/deployment"
	"k8s.io/kubernetes/pkg/controller/disruption"
	"k8s.io/kubernetes/pkg/controller/endpointslice"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
	"k8s.io/kubernetes/pkg/controller/job"
	"k8s.io/kubernetes/pkg/controller/namespace"
	"k8s.io/kubernetes/pkg/controller/podautoscaler"
	hpametrics "k8s.io/kubernetes/pkg/controller/podautoscaler/metrics"
	"k8s.io/kubernetes/pkg/controller/replicaset"
	"k8s.io/kubernetes/pkg/controller/statefulset"
	"k8s.io/kubernetes/pkg/controller/ttlafterfinished"
	"k8s.io/kubernetes/pkg/controller/volume/pvcprotection"
	resourceclient "k8s.io/metrics/pkg/client/clientset/versioned/typed/metrics/v1beta1"
	"k8s.io/metrics/pkg/client/custom_metrics"
	"k8s.io/metrics/pkg/client/external_metrics"
)

// runController is a controller that is ready to run, until its context ends.
type runController func(context.Context)

// controllers are the controllers that need no real nodes, by their client names. They are configured as in
// kube-controller-manager.
var controllers = map[string]func(ctx context.Context, m *manager, name string) (runController, error){
	"deployment-controller":         newDeployments,
	"replicaset-controller":         newReplicaSets,
	"statefulset-controller":        newStatefulSets,
	"daemon-set-controller":         newDaemonSets,
	"job-controller":                newJobs,
	"cronjob-controller":            newCronJobs,
	"ttl-after-finished-controller": newTTLAfterFinished,
	"endpointslice-controller":      newEndpointSlices,
	"horizontal-pod-autoscaler":     newAutoscaler,
	"disruption-controller":         newDisruption,
	"pvc-protection-controller":     newClaimProtection,
	"generic-garbage-collector":     newGarbageCollector,
	"namespace-controller":          newNamespaces,
}

func newDeployments(ctx context.Context, m *manager, name string) (runController, error) {
	apps, core := m.informers.Apps().V1(), m.informers.Core().V1()
	c, err := deployment.NewDeploymentController(ctx, apps.Deployments(), apps.ReplicaSets(), core.Pods(), m.client(name))
	return func(ctx context.Context) { c.Run(ctx, 5) }, err
}

func newReplicaSets(ctx context.Context, m *manager, name string) (runController, error) {
	c := replicaset.NewReplicaSetController(ctx, m.informers.Apps().V1().ReplicaSets(), m.informers.Core().V1().Pods(),
		m.client(name), replicaset.BurstReplicas)
	return func(ctx context.Context) { c.Run(ctx, 5) }, nil
}

func newStatefulSets(ctx context.Context, m *manager, name string) (runController, error) {
	apps, core := m.informers.Apps().V1(), m.informers.Core().V1()
	c := statefulset.NewStatefulSetController(ctx, core.Pods(), apps.StatefulSets(), core.PersistentVolumeClaims(),
		apps.ControllerRevisions(), m.client(name))
	return func(ctx context.Context) { c.Run(ctx, 5) }, nil
}

func newDaemonSets(ctx context.Context, m *manager, name string) (runController, error) {
	apps, core := m.informers.Apps().V1(), m.informers.Core().V1()
	c, err := daemon.NewDaemonSetsController(ctx, apps.DaemonSets(), apps.ControllerRevisions(), core.Pods(), core.Nodes(),
		m.client(name), flowcontrol.NewBackOff(time.Second, 15*time.Minute))
	return func(ctx context.Context) { c.Run(ctx, 2) }, err
}

func newJobs(ctx context.Context, m *manager, name string) (runController, error) {
	// The last two are of a feature gate, and not looked at without it.
	scheduling := m.informers.Scheduling().V1beta1()
	c, err := job.NewController(ctx, m.client(name), m.informers.Core().V1().Pods(), m.informers.Batch().V1().Jobs(),
		scheduling.Workloads(), scheduling.PodGroups())
	return func(ctx context.Context) { c.Run(ctx, 5) }, err
}

func newCronJobs(ctx context.Context, m *manager, name string) (runController, error) {
	batch := m.informers.Batch().V1()
	c, err := cronjob.NewControllerV2(ctx, batch.Jobs(), batch.CronJobs(), m.client(name))
	return func(ctx context.Context) { c.Run(ctx, 5) }, err
}

func newTTLAfterFinished(ctx context.Context, m *manager, name string) (runController, error) {
	c := ttlafterfinished.New(ctx, m.informers.Batch().V1().Jobs(), m.client(name))
	return func(ctx context.Context) { c.Run(ctx, 5) }, nil
}

func newEndpointSlices(ctx context.Context, m *manager, name string) (runController, error) {
	core := m.informers.Core().V1()
	c := endpointslice.NewController(ctx, core.Pods(), core.Services(), core.Nodes(),
		m.informers.Discovery().V1().EndpointSlices(), 100, m.client(name), 0)
	return func(ctx context.Context) { c.Run(ctx, 5) }, nil
}

func newAutoscaler(ctx context.Context, m *manager, name string) (runController, error) {
	const period = 15 * time.Second
	client, config := m.client(name), m.config(name)
	scales, err := m.scales(name)
	if err != nil {
		return nil, err
	}
	external, err := external_metrics.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	versions := custom_metrics.NewAvailableAPIsGetter(client.Discovery())
	metrics := hpametrics.NewRESTMetricsClient(resourceclient.NewForConfigOrDie(config),
		custom_metrics.NewForConfig(config, m.mapper, versions), external)
	c := podautoscaler.NewHorizontalController(ctx, client.CoreV1(), scales, client.AutoscalingV2(), m.mapper, metrics,
		m.informers.Autoscaling().V2().HorizontalPodAutoscalers(), m.informers.Core().V1().Pods(),
		period, 5*time.Minute, 0.1, 5*time.Minute, 30*time.Second)
	return func(ctx context.Context) {
		go custom_metrics.PeriodicallyInvalidate(versions, period, ctx.Done())
		c.Run(ctx, 5)
	}, nil
}

func newDisruption(ctx context.Context, m *manager, name string) (runController, error) {
	apps, core, client := m.informers.Apps().V1(), m.informers.Core().V1(), m.client(name)
	scales, err := m.scales(name)
	if err != nil {
		return nil, err
	}
	c := disruption.NewDisruptionController(ctx, core.Pods(), m.informers.Policy().V1().PodDisruptionBudgets(),
		core.ReplicationControllers(), apps.ReplicaSets(), apps.Deployments(), apps.StatefulSets(),
		client, m.mapper, scales, client.Discovery())
	return func(ctx context.Context) { c.Run(ctx, 1) }, nil
}

func newClaimProtection(ctx context.Context, m *manager, name string) (runController, error) {
	core := m.informers.Core().V1()
	c, err := pvcprotection.NewPVCProtectionController(klog.FromContext(ctx), core.PersistentVolumeClaims(), core.Pods(), m.client(name))
	return func(ctx context.Context) { c.Run(ctx, 1) }, err
}

func newGarbageCollector(ctx context.Context, m *manager, name string) (runController, error) {
	const period = 30 * time.Second
	config := m.config(name)
	config.QPS *= 2 // each deletion takes two requests
	client := m.client(name)
	c, err := garbagecollector.NewComposedGarbageCollector(ctx, client, metadata.NewForConfigOrDie(config), m.mapper,
		garbagecollector.NewDependencyGraphBuilder(ctx, metadata.NewForConfigOrDie(m.config("metadata-informers")), m.mapper,
			garbagecollector.DefaultIgnoredResources(), m.all, m.started))
	return func(ctx context.Context) {
		go c.Sync(ctx, client.Discovery(), period)
		c.Run(ctx, 20, period)
	}, err
}

func newNamespaces(ctx context.Context, m *manager, name string) (runController, error) {
	config := m.config(name)
	config.QPS, config.Burst = config.QPS*20, config.Burst*100 // each namespace takes many requests
	client := kubernetes.NewForConfigOrDie(config)
	c := namespace.NewNamespaceController(ctx, client, metadata.NewForConfigOrDie(config),
		client.Discovery().ServerPreferredNamespacedResources, m.informers.Core().V1().Namespaces(),
		5*time.Minute, corev1.FinalizerKubernetes)
	return func(ctx context.Context) { c.Run(ctx, 10) }, nil
}

// scales returns a client for the scale of any resource that has one.
func (m *manager) scales(name string) (scale.ScalesGetter, error) {
	scales, err := scale.NewForConfig(m.config(name), m.mapper, dynamic.LegacyAPIPathResolverFunc,
		scale.NewDiscoveryScaleKindResolver(m.client(name).Discovery()))
	if err != nil {
		return nil, fmt.Errorf("cannot make a client for scales: %w", err)
	}
	return scales, nil
}
