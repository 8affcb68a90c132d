package complete

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd/api"

	"dwatch/cli/fail"
	"dwatch/watcher/event"
)

// completer completes one command line. Of its methods only those in server.go ask
// the server.
type completer struct{ Options }

// flags returns how the value of a flag is completed, for all flags of which
// something is known. Of the others, nothing is offered.
func (c *completer) flags() map[string]cobra.CompletionFunc {
	return map[string]cobra.CompletionFunc{
		"output":                fixed(c.Formats...),
		"template":              files,
		"color":                 fixed("auto", "always", "never"),
		"only":                  fixed(paths...),
		"ignore":                fixed(paths...),
		"mask":                  fixed(paths...),
		"types":                 fixedList(string(event.Added), string(event.Modified), string(event.Deleted)),
		"where":                 c.expression(nil),
		"until":                 c.expression(c.Presets),
		"fail-if":               c.expression(c.Presets),
		"until-for":             fixed(c.Quantifiers...),
		"for":                   c.object,
		"heartbeat":             fixed("10s", "30s", "1m", "5m"),
		"workers":               fixed("2", "4", "8"),
		"deadline":              fixed("10s", "1m", "10m"),
		"max-backoff":           fixed("10s", "1m", "10m"),
		"rate":                  fixed("1", "10", "100"),
		"give-up-after":         fixed("10m", "1h", "24h"),
		"dead-letters":          files,
		"redeliver":             files,
		"drain":                 fixed("10s", "1m"),
		"listen":                fixed(":9090", "127.0.0.1:9090"),
		"outbox-size":           fixed("64Mi", "512Mi", "4Gi"),
		"to-format":             fixed(c.WebhookFormats...),
		"to-token-file":         files,
		"to-header-file":        files,
		"to-signing-file":       files,
		"to-cert":               files,
		"to-key":                files,
		"to-ca":                 files,
		"nats-creds":            files,
		"nats-nkey":             files,
		"nats-login":            files,
		"serve":                 fixed("127.0.0.1:8080", "localhost:8080"),
		"tls-cert":              files,
		"tls-key":               files,
		"timeout":               fixed("30s", "5m", "1h"),
		"resource":              c.resource,
		"exclude":               c.resource,
		"namespace":             c.namespace,
		"context":               c.kubeconfig(contexts),
		"cluster":               c.kubeconfig(clusters),
		"user":                  c.kubeconfig(users),
		"state":                 files,
		"kubeconfig":            files,
		"cache-dir":             files,
		"certificate-authority": files,
		"client-certificate":    files,
		"client-key":            files,
	}
}

// paths are some that many objects have.
var paths = []string{"data", "metadata.annotations", "metadata.labels", "metadata.ownerReferences", "spec", "spec.replicas", "spec.template", "status", "status.conditions"}

// fixed completes one of words.
func fixed(words ...string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return reply(choose("", typed, nil, words))
	}
}

// fixedList completes a list of words, which are written in lower case.
func fixedList(words ...string) cobra.CompletionFunc {
	for i, w := range words {
		words[i] = strings.ToLower(w)
	}
	return func(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return reply(chooseItem(typed, nil, words))
	}
}

// expression completes one of presets, or a function, with which an expression may
// begin. What comes after that only its author knows.
func (c *completer) expression(presets []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		completions, directive := reply(choose("", typed, nil, append(slices.Clone(presets), c.Conditions...)))
		return completions, directive | cobra.ShellCompDirectiveNoSpace
	}
}

// files leaves it to the shell.
func files(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveDefault
}

// kubeconfig completes a name that the kubeconfig has. It reads the files, and
// makes no request.
func (c *completer) kubeconfig(names func(*api.Config) []cobra.Completion) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		config, err := c.Connection.Loader().RawConfig()
		if err != nil {
			return reply(nil)
		}
		return reply(choose("", typed, nil, names(&config)))
	}
}

func contexts(config *api.Config) []cobra.Completion {
	var choices []cobra.Completion
	for name, c := range config.Contexts {
		namespace := c.Namespace
		if namespace == "" {
			namespace = "default"
		}
		choices = append(choices, choice(name, "namespace "+namespace+" of "+c.Cluster))
	}
	return slices.Sorted(slices.Values(choices))
}

func clusters(config *api.Config) []cobra.Completion {
	var choices []cobra.Completion
	for name, c := range config.Clusters {
		choices = append(choices, choice(name, fail.HostOf(c.Server)))
	}
	return slices.Sorted(slices.Values(choices))
}

func users(config *api.Config) []cobra.Completion {
	var choices []cobra.Completion
	for name := range config.AuthInfos {
		choices = append(choices, choice(name, ""))
	}
	return slices.Sorted(slices.Values(choices))
}
