package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/spf13/pflag"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	genericapiserver "k8s.io/apiserver/pkg/server"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"
)

// apiServer is a kube-apiserver inside this process; there can be only one,
// since its settings are in part global.
type apiServer struct {
	options *options.ServerRunOptions
	flags   *pflag.FlagSet
	address string        // host:port it serves on
	done    chan struct{} // closed when it ended
	err     error         // why, once done is closed
}

// fixedFlags are the flags that the test bed sets, and users must not.
var fixedFlags = []string{
	"advertise-address", "bind-address", "cert-dir", "etcd-servers", "permit-address-sharing",
	"permit-port-sharing", "secure-port", "service-account-issuer", "service-account-key-file",
	"service-account-signing-key-file", "tls-cert-file", "tls-private-key-file", "token-auth-file",
}

// newAPIServer checks extraArgs, each KEY=VALUE, and returns a server that is
// configured by them but not started.
func newAPIServer(extraArgs []string) (*apiServer, error) {
	server := &apiServer{
		options: options.NewServerRunOptions(),
		flags:   pflag.NewFlagSet("kube-apiserver", pflag.ContinueOnError),
		done:    make(chan struct{}),
	}
	sections := server.options.Flags()
	for _, section := range sections.FlagSets {
		server.flags.AddFlagSet(section)
	}
	defaults := []string{
		"authorization-mode=RBAC",
		"service-cluster-ip-range=10.0.0.0/16",
		// No controller makes the accounts, and none finds out that nodes are ready.
		"disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
		"endpoint-reconciler-type=none", // endpoints must not be on loopback
		"shutdown-delay-duration=0s",
	}
	for _, arg := range defaults {
		if err := server.set(arg); err != nil {
			return nil, fmt.Errorf("kube-apiserver refuses --%s: %w", arg, err)
		}
	}
	for _, arg := range extraArgs {
		if err := server.setExtra(arg); err != nil {
			return nil, badUsage("--apiserver-arg %s: %w", arg, err)
		}
	}
	// Feature gates are global, and count only once they are set.
	if err := server.options.GenericServerRunOptions.ComponentGlobalsRegistry.Set(); err != nil {
		return nil, badUsage("--apiserver-arg: %w", err)
	}
	return server, nil
}

// setExtra sets one flag on behalf of the user.
func (s *apiServer) setExtra(arg string) error {
	name, _, _ := strings.Cut(arg, "=")
	for _, fixed := range fixedFlags {
		if name == fixed {
			return errors.New("the test bed sets this flag itself")
		}
	}
	return s.set(arg)
}

// set sets one flag, given as KEY=VALUE.
func (s *apiServer) set(arg string) error {
	name, value, ok := strings.Cut(arg, "=")
	if !ok || name == "" {
		return errors.New("want KEY=VALUE")
	}
	if s.flags.Lookup(name) == nil {
		return errors.New("kube-apiserver has no such flag")
	}
	return s.flags.Set(name, value)
}

// start runs the server on listener until ctx ends. It returns when the
// configuration is accepted, which is before the server is ready.
func (s *apiServer) start(ctx context.Context, listener net.Listener, etcd string, users *users, data *dataDir) error {
	address := listener.Addr().(*net.TCPAddr)
	s.address = address.String()
	for _, arg := range []string{
		"etcd-servers=" + etcd,
		"bind-address=127.0.0.1",
		"advertise-address=127.0.0.1",
		fmt.Sprintf("secure-port=%d", address.Port),
		"cert-dir=" + data.path(certDir),
		"token-auth-file=" + users.tokenFile,
		"service-account-issuer=https://kubernetes.default.svc",
		"service-account-key-file=" + users.signingKeyFile,
		"service-account-signing-key-file=" + users.signingKeyFile,
	} {
		if err := s.set(arg); err != nil {
			return fmt.Errorf("kube-apiserver refuses --%s: %w", arg, err)
		}
	}
	// Handing the open listener over leaves no moment to lose the port in.
	s.options.SecureServing.Listener = listener
	completed, err := s.complete(ctx)
	if err != nil {
		return fmt.Errorf("kube-apiserver refuses its flags: %w", err)
	}
	go func() {
		s.err = runAPIServer(ctx, completed)
		close(s.done)
	}()
	return nil
}

// runAPIServer is app.Run without what takes a third of a start: policyHook, since writePolicy
// has done its work, and version 2 of the schema, which clients ask for only where there is
// no version 3. The part that serves custom resources keeps it: without it they have no schema of
// version 3, either.
func runAPIServer(ctx context.Context, completed options.CompletedOptions) error {
	config, err := app.NewConfig(completed)
	if err != nil {
		return err
	}
	config.KubeAPIs.ControlPlane.Generic.DisabledPostStartHooks.Insert(policyHook)
	for _, part := range []*genericapiserver.Config{config.KubeAPIs.ControlPlane.Generic, &config.Aggregator.GenericConfig.Config} {
		part.OpenAPIConfig = nil
	}
	ready, err := config.Complete()
	if err != nil {
		return err
	}
	server, err := app.CreateServerChain(ready)
	if err != nil {
		return err
	}
	prepared, err := server.PrepareRun()
	if err != nil {
		return err
	}
	return prepared.Run(ctx)
}

// complete applies the log settings, which are global, and fills in all others.
func (s *apiServer) complete(ctx context.Context) (options.CompletedOptions, error) {
	var none options.CompletedOptions
	out := &logsapi.LoggingOptions{ErrorStream: componentLog, InfoStream: componentLog}
	if err := logsapi.ValidateAndApplyWithOptions(s.options.Logs, out, utilfeature.DefaultFeatureGate); err != nil {
		return none, err
	}
	completed, err := s.options.Complete(ctx)
	if err != nil {
		return none, err
	}
	return completed, utilerrors.NewAggregate(completed.Validate())
}

// reach returns how clients reach the server, which must have been started.
func (s *apiServer) reach(users *users, certificate []byte) *endpoint {
	return &endpoint{url: "https://" + s.address, ca: certificate, tokens: users.tokens}
}

// wait waits until the server ended, at most for limit.
func (s *apiServer) wait(limit time.Duration) {
	select {
	case <-s.done:
	case <-time.After(limit):
	}
}

// failure returns why the server ended, which must have happened.
func (s *apiServer) failure() error {
	if s.err == nil {
		return errors.New("without an error")
	}
	return s.err
}
