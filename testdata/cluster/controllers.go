package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
)

// enabledControllers are those that do their work without real nodes.
var enabledControllers = []string{
	"deployment-controller",
	"replicaset-controller",
	"statefulset-controller",
	"daemonset-controller",
	"job-controller",
	"cronjob-controller",
	"ttl-after-finished-controller",
	"endpointslice-controller",
	"horizontal-pod-autoscaler-controller",
	"disruption-controller",
	"persistentvolumeclaim-protection-controller",
	"garbage-collector-controller",
	"namespace-controller",
}

// startControllers starts the controllers and the stand-in for the kubelets.
// Starting up is bound to ctx; once started, they work until running ends.
func startControllers(ctx, running context.Context, endpoint *endpoint, data *dataDir) error {
	kubeconfig := data.path("controllers.kubeconfig")
	if err := writeKubeconfig(kubeconfig, endpoint.kubeconfig(userControllers)); err != nil {
		return err
	}
	manager, err := options.NewKubeControllerManagerOptions()
	if err != nil {
		return fmt.Errorf("cannot configure the controllers: %w", err)
	}
	known, disabled, aliases := app.KnownControllers(), app.ControllersDisabledByDefault(), app.ControllerAliases()
	flags := pflag.NewFlagSet("kube-controller-manager", pflag.ContinueOnError)
	sections := manager.Flags(known, disabled, aliases)
	for _, section := range sections.FlagSets {
		flags.AddFlagSet(section)
	}
	if err := flags.Parse([]string{
		"--kubeconfig=" + kubeconfig,
		"--controllers=" + strings.Join(enabledControllers, ","),
		"--leader-elect=false",
		"--secure-port=0",
		"--kube-api-qps=500",
		"--kube-api-burst=1000",
	}); err != nil {
		return fmt.Errorf("kube-controller-manager refuses its flags: %w", err)
	}
	config, err := manager.Config(ctx, known, disabled, aliases)
	if err != nil {
		return fmt.Errorf("cannot configure the controllers: %w", err)
	}
	go func() {
		if err := app.Run(running, config.Complete()); err != nil && running.Err() == nil {
			klog.ErrorS(err, "The controllers stopped")
			klog.FlushAndExit(klog.ExitFlushTimeout, 1)
		}
	}()
	return startKubelets(ctx, running, endpoint)
}
