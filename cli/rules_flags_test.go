package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// Of where a flag of dwatch send may stand with rules.
const (
	inRule      = "in a rule"
	ofAll       = "on the command line"
	inNeither   = "nowhere"
	asResources = "as resources"
)

// TestFlagsWithRules: each flag of dwatch send is a member of rules, or a flag of the command line with -f, or is refused with a reason.
// A new flag has to be added here.
func TestFlagsWithRules(t *testing.T) {
	dir := t.TempDir()
	unplaced := map[string]bool{}
	send := new(sendOptions)
	addFlags(pflag.NewFlagSet("", pflag.ContinueOnError), send)
	send.all.VisitAll(func(f *pflag.Flag) {
		if send.server.Lookup(f.Name) == nil && f.Name != "filename" { // the flags of the connection apply to all rules
			unplaced[f.Name] = true
		}
	})
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	some := file("some", "some: thing\n")
	const (
		hook = "command: [/bin/true]"
		web  = "to: https://host.example/path"
		nats = "to: nats://host.example/k8s"
	)
	for _, test := range []struct {
		where, with string // with: what else the rule has
		flags       map[string]string
	}{
		{inRule, hook, map[string]string{
			"exclude": "events", "namespace": "shop", "exclude-namespace": "kube-*", "namespace-selector": "team=shop", "all-namespaces": "true", "selector": "app=web",
			"field-selector": "metadata.name=a", "for": "deploy/web", "wait": "true", "watch-only": "true", "types": "added", "where": "failed",
			"settle": "30s", "output": "json", "changes": "true", "patch": "true", "old": "true", "mask": "data.k", "show-secrets": "true",
			"show-managed-fields": "true", "template": "slack", "batch": "true", "workers": "3", "deadline": "20s", "max-backoff": "10s", "rate": "2.5",
			"give-up-after": "1h", "dead-letters": filepath.Join(dir, "letters"), "drain": "3s", "outbox-size": "2Mi", "latest": "true",
		}},
		{inRule, hook + "\n  changes: true", map[string]string{"only": "spec", "ignore": "status", "noise": "true"}},
		{inRule, hook + "\n  template: slack", map[string]string{"cluster-name": "prod"}},
		{inRule, hook + "\n  settle: 30s", map[string]string{"max-settle": "5m"}},
		{inRule, "", map[string]string{"to": "https://host.example/path", "to-file": file("url", "https://host.example/path\n")}},
		{inRule, web, map[string]string{
			"to-format": "structured", "to-token-file": some, "to-header-file": some, "to-signing-file": some, "to-ca": some,
		}},
		{inRule, web + "\n  to-key: " + some, map[string]string{"to-cert": some}},
		{inRule, web + "\n  to-cert: " + some, map[string]string{"to-key": some}},
		{inRule, nats, map[string]string{"create-stream": "K8S", "nats-creds": some, "nats-nkey": some}},
		{inRule, "to: tls://host.example/k8s", map[string]string{"nats-login": some}},
		{inRule, "to: kafka://127.0.0.1:9092/k8s\n  kafka-login: " + some, map[string]string{"kafka-sasl": "plain"}},
		{inRule, "to: kafka://127.0.0.1:9092/k8s", map[string]string{"kafka-login": some}},
		{asResources, hook, map[string]string{"resource": "cm"}},
		{ofAll, hook, map[string]string{
			"state": filepath.Join(dir, "kept"), "listen": "127.0.0.1:0", "verify": "1h", "shard": "1/2", "lease": "ops/feed", "check": "true",
			"quiet": "true", "v": "6", "log": "json", "utc": "true", "help": "true", "help-all": "true", "readiness": some,
		}},
		{inNeither, hook, map[string]string{
			"until": "ready", "fail-if": "failed", "until-for": "any", "count": "1", "timeout": "1m", "logs": "3",
			"from": dir, "from-token-file": some, "from-ca": some, "since": "1h", "before": "1h", "redeliver": some,
			"record": dir, "keep": "1h", "max-size": "1Gi",
		}},
	} {
		for name, value := range test.flags {
			delete(unplaced, name)
			member, plain := file("rules.yaml", ruleWith(test.with, name+": "+value)), file("plain.yaml", ruleWith(hook))
			_, _, inFile := parsed([]string{"send", "-f", member})
			_, _, beside := parsed([]string{"send", "-f", plain, "--" + name + "=" + value})
			for _, got := range []struct {
				at    string
				takes bool
				err   error
			}{{member, test.where == inRule, inFile}, {"the command line", test.where == ofAll, beside}} {
				switch {
				case got.takes && got.err != nil:
					t.Errorf("%s at %s: %v", name, got.at, got.err)
				case got.takes:
				case got.err == nil:
					t.Errorf("%s is taken at %s", name, got.at)
				case !strings.Contains(got.err.Error(), name) || strings.Contains(got.err.Error(), "\n"):
					t.Errorf("%s at %s: %v", name, got.at, got.err)
				}
			}
			if why := whyNotWithRules(name); test.where == inNeither && (why == "" || !strings.Contains(inFile.Error(), "--"+name+" "+why)) {
				t.Errorf("%s: %v does not say why", name, inFile)
			}
		}
	}
	for name := range unplaced {
		t.Errorf("is --%s of a rule, of all rules, or of neither?", name)
	}
}

func ruleWith(members ...string) string {
	text := "apiVersion: dwatch/v1alpha1\nkind: Rules\nrules:\n- name: one\n  resources: [cm]\n"
	for _, m := range members {
		if m != "" {
			text += "  " + m + "\n"
		}
	}
	return text
}
