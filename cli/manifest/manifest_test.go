package manifest

import (
	"encoding/json"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// TestReceivers checks the egress rules for addresses of a receiver. They allow only the receiver if its address says where it is.
func TestReceivers(t *testing.T) {
	for address, want := range map[string]string{
		"https://hooks.example.com/x":             `[{"ports":[{"port":443}]}]`,
		"http://hooks.example.com:8080":           `[{"ports":[{"port":8080}]}]`,
		"nats://nats.example.com/k8s":             `[{"ports":[{"port":4222}]}]`,
		"kafka://192.0.2.7:9092/x":                `[{"ports":[{"port":9092}]}]`,
		"kafka+tls://kafka.shop.svc:9093/x":       `[{"to":[{"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"shop"}}}]}]`,
		"https://192.0.2.7/x":                     `[{"to":[{"ipBlock":{"cidr":"192.0.2.7/32"}}],"ports":[{"port":443}]}]`,
		"https://[2001:db8::1]:8443":              `[{"to":[{"ipBlock":{"cidr":"2001:db8::1/128"}}],"ports":[{"port":8443}]}]`,
		"http://broker":                           `[{"to":[{"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"ops"}}}]}]`,
		"http://Broker.Shop.SVC:8080":             `[{"to":[{"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"shop"}}}]}]`,
		"http://broker..svc:8080":                 `[{"ports":[{"port":8080}]}]`,
		"http://broker.shop.svc:8080":             `[{"to":[{"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"shop"}}}]}]`,
		"nats://broker.shop.svc.cluster.local./x": `[{"to":[{"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"shop"}}}]}]`,
		"https://broker.shop":                     `[{"to":[{"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"shop"}}}]},{"ports":[{"port":443}]}]`,
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		var rules []EgressRule
		for _, p := range ReceiverPeers(u, "ops") {
			rules = append(rules, p.EgressRule)
		}
		if got, err := json.Marshal(rules); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v", address, got, err)
		}
	}
}

// TestQuote checks that a YAML parser reads the original string from the result of quote.
func TestQuote(t *testing.T) {
	for _, text := range []string{
		"", "a", "-", "--", "--x=y", "on", "N", "Null", "1", "1e3", ".5", "0x1", "~", "a: b", "a #b", "{a}", "[a]", "*", "&a", "!a", "|", ">", "%",
		"@a", "`a`", `"a"`, "'a'", "a\nb", "a\tb", "\x00\x1b", "<>&", "é\u2028", "--where=object.data.a == \"1\"", "2001-01-01", "a/b", "=", "-.inf", "--namespace=on",
	} {
		var got struct{ Text []string }
		if err := yaml.UnmarshalStrict([]byte("text:\n  - "+quote(text)+"\n"), &got); err != nil || len(got.Text) != 1 || got.Text[0] != text {
			t.Errorf("quote(%q) is %s, which a YAML parser reads as %q: %v", text, quote(text), got.Text, err)
		}
	}
}

// TestMount checks the paths of local files in the pod.
func TestMount(t *testing.T) {
	for file, want := range map[string]string{
		"my token": "/etc/dwatch/my-token", "x; touch y": "/etc/dwatch/x--touch-y",
		"..token": "/etc/dwatch/--token", "...": "/etc/dwatch/--.", ".token": "/etc/dwatch/.token",
		"token": "/etc/dwatch/token", "./a/token": "/etc/dwatch/token", `C:\keys\token`: "/etc/dwatch/token", "../token": "/etc/dwatch/token",
	} {
		if got, named := MountPath(SecretDir, file); got != want || !named {
			t.Errorf("%s: %s", file, got)
		}
	}
	for _, file := range []string{"", ".", "..", "/", "a/..", "a/."} {
		if at, named := MountPath(SecretDir, file); named {
			t.Errorf("%q: %s", file, at)
		}
	}
}

// TestArgument checks that each $ is doubled, so that Kubernetes expands no variable.
func TestArgument(t *testing.T) {
	for text, want := range map[string]string{"$(HOME)": `"$$(HOME)"`, "echo $$ $x": `"echo $$$$ $$x"`, "a": "a"} {
		if got := quote(argument(text)); got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
}

// TestNames checks that names such as "true" and "123" stay strings in the manifests, and that each alert selects the job and
// the namespace, because other namespaces may have a job of the same name.
func TestNames(t *testing.T) {
	for _, name := range []string{"true", "null", "on", "y"} {
		files, err := Workload{
			Name: name, Namespace: "123", Image: "i", Args: []string{"send", "--listen=:1"}, VolumeSize: "1Gi", MountsSecrets: true, Ports: []Port{{"metrics", 1}},
			Monitoring: true,
		}.Files()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			var u unstructured.Unstructured
			if err := yaml.UnmarshalStrict(f.Text, &u.Object); f.Name != "roles.yaml" && (err != nil || u.GetName() != name || u.GetNamespace() != "123" || !reflect.DeepEqual(u.GetLabels(), map[string]string{"app.kubernetes.io/instance": name, "app.kubernetes.io/name": "dwatch"})) {
				t.Errorf("%v in\n%s", err, f.Text)
			}
			if matchers := strings.Count(string(f.Text), "{job="); matchers != strings.Count(string(f.Text), `{job="`+name+`",namespace="123"}`) || f.Name == "alerts.yaml" && matchers != 5 {
				t.Errorf("%d matchers in\n%s", matchers, f.Text)
			}
		}
	}
}
