package chart

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"dwatch/testdata/testenv"
)

const (
	root      = "../.."
	directory = root + "/cli/manifest/chart"
	namespace = "ops" // enforces the Pod Security Standard "restricted"
)

var (
	cluster *testenv.Cluster
	program string
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	dir, err := os.MkdirTemp("", "dwatch-chart-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "dwatch")
	build := exec.Command("go", "build", "-trimpath", "-tags", "kafka", "-ldflags", "-s -w", "-o", program, ".")
	build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("go build: %w\n%s", err, out)
	}
	if os.Getenv("DWATCH_CLUSTER") == "" {
		if err := os.Setenv("DWATCH_CLUSTER", root+"/bin/cluster"); err != nil {
			return 0, err
		}
	}
	if cluster, err = testenv.StartCluster(); err != nil {
		return 0, err
	}
	code := 1
	if _, err = kubectl(nil, "create", "namespace", namespace); err == nil {
		_, err = kubectl(nil, "label", "namespace", namespace, "pod-security.kubernetes.io/enforce=restricted")
	}
	if err == nil {
		code = m.Run()
	}
	return code, errors.Join(err, cluster.Stop())
}

func kubectl(input []byte, args ...string) (string, error) {
	return output(input, root+"/bin/kubectl", append(args, "--kubeconfig", cluster.Kubeconfig)...)
}

func output(input []byte, name string, args ...string) (string, error) {
	var out, wrong bytes.Buffer
	cmd := exec.Command(name, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &out, &wrong
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %q: %w\n%s", filepath.Base(name), args, err, wrong.String())
	}
	return out.String(), nil
}

// manifests returns what dwatch manifests prints for a command line.
func manifests(t *testing.T, args ...string) string {
	t.Helper()
	text, err := output(nil, program, append([]string{"manifests", "--into", namespace, "--kubeconfig", cluster.Kubeconfig}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// rendered renders the chart as Helm does, with values and on a server that also has types.
func rendered(values []byte, types ...string) (string, error) {
	c, err := loader.Load(directory)
	if err != nil {
		return "", err
	}
	own, err := common.ReadValues(values)
	if err != nil {
		return "", err
	}
	able := common.DefaultCapabilities.Copy()
	able.APIVersions = append(able.APIVersions, types...)
	all, err := util.ToRenderValues(c, own, common.ReleaseOptions{Name: "the-release", Namespace: namespace, Revision: 1, IsInstall: true}, able)
	if err != nil {
		return "", err
	}
	files, err := engine.Render(c, all)
	if err != nil {
		return "", err
	}
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if strings.HasSuffix(name, ".yaml") {
			texts = append(texts, files[name])
		}
	}
	return strings.Join(texts, "\n---\n"), nil
}

// objects returns the objects of a YAML text by kind, namespace and name.
func objects(t *testing.T, text string) map[string]map[string]any {
	t.Helper()
	all := map[string]map[string]any{}
	for d := utilyaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096); ; {
		var u unstructured.Unstructured
		err := d.Decode(&u.Object)
		switch name := fmt.Sprintf("%s %s/%s", u.GetKind(), u.GetNamespace(), u.GetName()); {
		case err == io.EOF:
			return all
		case err != nil:
			t.Fatalf("%v in\n%s", err, text)
		case u.Object == nil:
		case all[name] != nil:
			t.Fatalf("two of %s in\n%s", name, text)
		default:
			all[name] = u.Object
		}
	}
}

// taken checks by dry runs that the API server accepts the objects of a text, and a pod of its StatefulSet.
func taken(t *testing.T, text string) {
	t.Helper()
	if _, err := kubectl([]byte(text), "apply", "--server-side", "--force-conflicts", "--validate=strict", "--dry-run=server", "-f", "-"); err != nil {
		t.Error(err)
	}
	for _, o := range objects(t, text) {
		if o["kind"] != "StatefulSet" {
			continue
		}
		pod, _, _ := unstructured.NestedMap(o, "spec", "template")
		pod["apiVersion"], pod["kind"] = "v1", "Pod"
		_ = unstructured.SetNestedField(pod, "one", "metadata", "name")
		volumes, _, _ := unstructured.NestedSlice(pod, "spec", "volumes")
		claims, _, _ := unstructured.NestedSlice(o, "spec", "volumeClaimTemplates")
		for _, c := range claims { // the StatefulSet controller adds the volumes of claims to the pod
			name, _, _ := unstructured.NestedString(c.(map[string]any), "metadata", "name")
			volumes = append(volumes, map[string]any{"name": name, "persistentVolumeClaim": map[string]any{"claimName": name + "-one"}})
			_ = unstructured.SetNestedSlice(pod, volumes, "spec", "volumes")
		}
		_ = unstructured.SetNestedField(pod, namespace, "metadata", "namespace")
		of, err := yaml.Marshal(pod)
		if err == nil {
			_, err = kubectl(of, "create", "--validate=strict", "--dry-run=server", "-f", "-")
		}
		if err != nil {
			t.Error(err)
		}
	}
}

const rules = `apiVersion: dwatch/v1alpha1
kind: Rules
rules:
- {name: chat, resources: [cm], settle: 30s, template: slack, to-file: here/url}
- {name: hook, resources: [po, cm], all-namespaces: true, changes: true, dead-letters: here/dead, to: "https://hook.invalid", to-token-file: here/token}
- name: odd
  resources: [secrets]
  namespace: default
  where: "object.metadata.name == \"a: b\\n# c\"\n|| object.metadata.name == '{{ .Values }}' || object.metadata.name == '\u2028\u0007é😀'"
  to: http://broker.shop.svc
`

// lines returns command lines, for which dwatch manifests and the chart must produce the same objects.
func lines(t *testing.T) [][]string {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "rules.yaml")
	write := func(name, text string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	write(file, strings.ReplaceAll(rules, "here/", dir+"/here/"))
	for name, text := range map[string]string{"here/url": "https://chat.invalid/x", "here/token": "opensesame"} {
		write(filepath.Join(dir, name), text)
	}
	return [][]string{
		{"cm", "-A", "--image", "i"},
		{"-r", "cm,deploy/web,nodes", "-n", "default", "--image", "registry.example.com:5000/a/dwatch:v1@sha256:" + strings.Repeat("0a", 32), "--name", "true"},
		{
			"send", "deployments", "-A", "--to", "https://hooks.example.com/dwatch", "--to-token-file", "token", "--to-ca", "ca.crt", "--state", "feed.state",
			"--dead-letters", "dead", "--give-up-after", "24h", "--drain", "30s", "--verify", "1h", "--image", "registry.example.com/dwatch:v1",
		},
		{
			"send", "cm", "--name", "feed", "--image", "i:1", "--to", "http://192.0.2.7", "--outbox-size", "1Gi",
			"--where", "object.data.a == \"$(HOME) {{ .Values }} \\\"'\x01 é\u2028😀\"\n|| type == 'a # comment: here'",
		},
		{"send", "cm", "-A", "--to", "http://broker.shop/x", "--image", "i", "--listen", "0.0.0.0:7070"},
		{"serve", "po,deploy", "-A", "--addr", ":8443", "--tls-cert", "tls.crt", "--tls-key", "tls.key", "--image", "i"},
		{"record", "rec", "*", "-A", "--max-size", "8Gi", "--image", "i"},
		{"send", "cm", "-A", "--image", "i", "--", "./hook.sh", "a b", "-x"},
		{"send", "cm", "-A", "--to", "http://broker.shop/x", "--image", "i", "--state", "f", "--lease", "feed"},
		{"send", "cm", "-A", "--to", "http://broker.shop/x", "--image", "i", "--state", "f", "--lease", "ops/feed", "--volume-per-pod"},
		{"send", "cm", "-A", "--to", "http://broker.shop/x", "--image", "i", "--state", "f", "--shard", "auto/3", "--verify", "1h"},
		{"send", "cm", "-A", "--to", "http://broker.shop/x", "--image", "i", "--shard", "2/12"},
		{"send", "-f", file, "--state", "kept", "--verify", "30m", "--image", "localhost:5000/dwatch", "--name", "feeds"},
	}
}

// TestSame checks that with the values that dwatch prints, Helm renders the same objects as dwatch manifests, except
// that the chart's volume has the annotation to keep it, and that the API server accepts them.
func TestSame(t *testing.T) {
	all := lines(t)
	for _, args := range all {
		isSame(t, args)
	}
	if t.Failed() {
		return
	}
	monitored(t)
	for _, args := range all {
		isSame(t, args, monitors...)
	}
}

// Types of the Prometheus operator.
var monitors = []string{"monitoring.coreos.com/v1/PodMonitor", "monitoring.coreos.com/v1/PrometheusRule"}

// monitored creates the CRDs of these types on the server.
func monitored(t *testing.T) {
	t.Helper()
	for _, args := range [][]string{
		{"apply", "-f", root + "/testdata/readme/monitoring.yaml"},
		{"wait", "--for=condition=Established", "crd", "--all", "--timeout=2m"},
	} {
		if _, err := kubectl(nil, args...); err != nil {
			t.Fatal(err)
		}
	}
}

func isSame(t *testing.T, args []string, types ...string) {
	t.Helper()
	if len(types) > 0 {
		args = append([]string{"--monitoring"}, args...)
	}
	printed := manifests(t, args...)
	text, err := rendered([]byte(manifests(t, append([]string{"--helm-values"}, args...)...)), types...)
	if err != nil {
		t.Errorf("%q: %v", args, err)
		return
	}
	want, got := objects(t, printed), objects(t, text)
	for name, o := range got {
		const keep = "helm.sh/resource-policy"
		if annotations, _, _ := unstructured.NestedMap(o, "metadata", "annotations"); strings.HasPrefix(name, "PersistentVolumeClaim ") && annotations[keep] == "keep" {
			unstructured.RemoveNestedField(o, "metadata", "annotations")
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || len(want) < 7 || len(types) > 0 != strings.Contains(printed, "PodMonitor") {
		t.Errorf("%q, %d objects, by dwatch and by Helm: %s", args, len(want), diff)
	}
	taken(t, text)
}

// everything sets each value of the chart.
const everything = `
fullnameOverride: feed
image: {repository: registry.example.com/dwatch, tag: v1, pullPolicy: Always}
imagePullSecrets: [{name: registry}]
args: [send, cm, --all-namespaces, "--to=https://hook.invalid", "--listen=:7070"]
rules: [{name: one, resources: cm, to: "https://hook.invalid"}]
existingSecret: tokens
env: [{name: HTTPS_PROXY, value: "http://proxy:3128"}]
envFrom: [{configMapRef: {name: more, optional: true}}]
extraVolumes: [{name: tmp, emptyDir: {}}]
extraVolumeMounts: [{name: tmp, mountPath: /tmp}]
ports: {metrics: 7070, page: 8080}
persistence: {enabled: true, size: 8Gi, storageClassName: fast, annotations: {backup: "yes"}, accessModes: [ReadWriteOncePod]}
rbac: {roles: [{rules: [{apiGroups: [""], resources: [configmaps], verbs: [list, watch]}]}, {name: more, namespace: default, rules: [{apiGroups: [""], resources: [secrets], verbs: [list]}]}]}
serviceAccount: {name: robot, annotations: {role: "1"}}
networkPolicy: {egress: [{why: all, ports: [{port: 443}]}, {to: [{ipBlock: {cidr: 192.0.2.0/24}}]}]}
podMonitor: {enabled: true, interval: 30s, labels: {release: prometheus}}
prometheusRule: {enabled: true, labels: {release: prometheus}, rules: [{alert: Mine, expr: vector(1)}]}
commonLabels: {team: "1"}
commonAnnotations: {owner: "us: you"}
podLabels: {tier: feeds}
podAnnotations: {prometheus.io/scrape: "true"}
resources: {requests: {cpu: 1, memory: 1Gi}, limits: {memory: 1Gi}}
terminationGracePeriodSeconds: 90
nodeSelector: {kubernetes.io/os: linux}
tolerations: [{key: feeds, operator: Exists, effect: NoSchedule}]
affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: x, operator: In, values: [a]}]}]}}}
topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {tier: feeds}}}]
priorityClassName: system-cluster-critical
`

// TestEverything checks that each value ends up in the right field, as the API server reads it.
func TestEverything(t *testing.T) {
	monitored(t)
	text, err := rendered([]byte(everything))
	if err != nil {
		t.Fatal(err)
	}
	all := objects(t, text)
	for name, o := range all {
		labels, _, _ := unstructured.NestedStringMap(o, "metadata", "labels")
		annotations, _, _ := unstructured.NestedStringMap(o, "metadata", "annotations")
		if labels["team"] != "1" || annotations["owner"] != "us: you" {
			t.Errorf("%s has %v, %v", name, labels, annotations)
		}
	}
	pod, _, _ := unstructured.NestedMap(all["StatefulSet ops/feed"], "spec", "template")
	var given map[string]any
	if err := yaml.Unmarshal([]byte(everything), &given); err != nil {
		t.Fatal(err)
	}
	spec := pod["spec"].(map[string]any)
	container := spec["containers"].([]any)[0].(map[string]any)
	for _, of := range []map[string]any{spec, container} {
		for name, value := range of {
			if want, is := given[name]; is && name != "image" && name != "ports" && !cmp.Equal(fmt.Sprint(value), fmt.Sprint(want)) {
				t.Errorf("%s: got %v, want %v", name, value, want)
			}
		}
	}
	for _, name := range []string{"imagePullSecrets", "nodeSelector", "tolerations", "affinity", "topologySpreadConstraints", "priorityClassName", "terminationGracePeriodSeconds"} {
		if spec[name] == nil {
			t.Errorf("no %s in %v", name, spec)
		}
	}
	for _, want := range []string{
		`image: "registry.example.com/dwatch:v1"`, `imagePullPolicy: "Always"`, `serviceAccountName: "robot"`, "HTTPS_PROXY", "name: more", "mountPath: /tmp", "emptyDir: {}",
		`secretName: "tokens"`, `storageClassName: "fast"`, "ReadWriteOncePod", `"backup": "yes"`, `"helm.sh/resource-policy": "keep"`, "storage: 8Gi", "# all",
		"cidr: 192.0.2.0/24", `interval: "30s"`, `"release": "prometheus"`, "alert: Mine", `"tier": "feeds"`, `"prometheus.io/scrape": "true"`, `"role": "1"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s", want)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
	taken(t, text)
}

// TestOff checks that everything optional can be turned off.
func TestOff(t *testing.T) {
	text, err := rendered([]byte(`{image: {repository: i}, args: [cm, "--listen=:9090"], rbac: {create: false, roles: [{rules: [{verbs: [get]}]}]}, serviceAccount: {create: false, name: default},
		networkPolicy: {enabled: false}, podDisruptionBudget: {enabled: false}, podMonitor: {enabled: false}, prometheusRule: {enabled: false}}`), monitors...)
	if err != nil {
		t.Fatal(err)
	}
	if got := slices.Sorted(maps.Keys(objects(t, text))); !slices.Equal(got, []string{"Service ops/the-release", "StatefulSet ops/the-release"}) {
		t.Errorf("%q", got)
	}
	taken(t, text)
}

// TestRulesAlone checks the arguments of the pod if there are rules and no args.
func TestRulesAlone(t *testing.T) {
	text, err := rendered([]byte(`{image: {repository: i}, rules: [{name: a, resources: [cm], to: "https://hook.invalid"}], persistence: {enabled: true}, ports: {metrics: 7070}}`))
	if err != nil {
		t.Fatal(err)
	}
	pod, _, _ := unstructured.NestedSlice(objects(t, text)["StatefulSet ops/the-release"], "spec", "template", "spec", "containers")
	want := []any{"send", "--filename=/etc/dwatch-rules/rules.yaml", "--state=/var/lib/dwatch/state", "--listen=:7070"}
	if diff := cmp.Diff(want, pod[0].(map[string]any)["args"]); diff != "" {
		t.Error(diff)
	}
	taken(t, text)
}

// TestWrong checks that wrong values are rejected with a message.
func TestWrong(t *testing.T) {
	const fine = "image: {repository: i}\nargs: [cm, '--listen=:9090']\n"
	if _, err := rendered([]byte(fine)); err != nil {
		t.Fatal(err)
	}
	for values, want := range map[string]string{
		"":                   "set args or rules: dwatch manifests COMMAND... --helm-values prints them for a command line",
		"args: [cm]":         "set image.repository to the image of dwatch",
		"image: i:v1":        "at '/image': got string, want object",
		fine + "arg: [x]":    "additional properties 'arg' not allowed",
		fine + "replicas: 2": "each replica would report all events: add --lease=NAME to args",
		fine + "args: [cm, '--listen=:9090', '--shard=auto/3']\nreplicas: 2":                          "--shard=auto/3 needs a replica for each shard: set replicas to 3",
		fine + "args: [cm, '--listen=:9090', '--shard=auto/3']":                                       "--shard=auto/3 needs a replica for each shard: set replicas to 3",
		fine + "args: [cm, '--listen=:9090', '--shard=1/3']\nreplicas: 3":                             "each replica would report all events: add --lease=NAME to args",
		fine + "args: [cm, '--listen=:9090', '--lease=a']\nreplicas: 2\npersistence: {enabled: true}": "the replicas share a volume, but persistence.accessModes let only one node mount it",
		fine + "args: [cm, '--listen=127.0.0.1:9090']":                                                "the probes use port 9090 (ports.metrics): add --listen=:9090 to args",
		fine + "args: [cm, '--listen=localhost:9090']":                                                "the probes use port 9090 (ports.metrics): add --listen=:9090 to args",
		fine + "args: [cm, '--listen=[::1]:9090']":                                                    "the probes use port 9090 (ports.metrics): add --listen=:9090 to args",
		fine + "rbac: {roles: [{rules: [{verbs: [get], resources: [a], apiGroups: ['']}]}, {rules: [{verbs: [get], resources: [b], apiGroups: ['']}]}]}": "two of rbac.roles have the name the-release: set a different name for each",
		fine + "persistence: {enabled: true, perPod: true, existingClaim: mine}":                                                                         "persistence.existingClaim is one volume for all pods, but persistence.perPod makes one for each",
		fine + "args: send cm":                                    "at '/args': got string, want array",
		fine + "args: [send, 5]":                                  "at '/args/1': got number, want string",
		fine + "args: [cm]":                                       "the probes use port 9090 (ports.metrics): add --listen=:9090 to args",
		fine + "ports: {metrics: 7070}":                           "the probes use port 7070 (ports.metrics): add --listen=:7070 to args",
		fine + "ports: {metrics: 99999}":                          "at '/ports/metrics': maximum: got 99,999, want 65,535",
		fine + "ports: {http: 80}":                                "at '/ports': additional properties 'http' not allowed",
		fine + "persistence: {size: 10 GB}":                       "at '/persistence/size': '10 GB' does not match pattern",
		fine + "persistence: {enabled: 'yes'}":                    "at '/persistence/enabled': got string, want boolean",
		fine + "rules: [{resources: cm}]":                         "at '/rules/0': missing property 'name'",
		fine + "rbac: {roles: [{rules: [{resources: [pods]}]}]}":  "at '/rbac/roles/0/rules/0': missing property 'verbs'",
		fine + "podMonitor: {enabled: maybe}":                     "at '/podMonitor/enabled': value must be one of 'auto', true, false",
		fine + "networkPolicy: {egress: [{why: \"a\\nb: c\"}]}":   "at '/networkPolicy/egress/0/why': ",
		fine + "fullnameOverride: A_b":                            "at '/fullnameOverride': 'A_b' does not match pattern",
		fine + "env: [{name: A, value: 1}]":                       "at '/env/0/value': got number, want string",
		fine + "terminationGracePeriodSeconds: -1":                "at '/terminationGracePeriodSeconds': minimum: got -1, want 0",
		fine + "image: {repository: 'registry.example.com/a:v1'}": "at '/image/repository': 'registry.example.com/a:v1' does not match pattern",
	} {
		// The last of several lines with the same key wins.
		var lines map[string]any
		for _, line := range strings.Split(strings.TrimSpace(values), "\n") {
			var one map[string]any
			if err := yaml.Unmarshal([]byte(line), &one); err != nil {
				t.Fatal(err)
			}
			if lines == nil {
				lines = map[string]any{}
			}
			maps.Copy(lines, one)
		}
		text, err := yaml.Marshal(lines)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = rendered(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\ngot %v\nwant %s", values, err, want)
		}
	}
}

// TestGrow checks that Kubernetes accepts updates in place: one pod without storage becomes two with a Lease, or several
// shards.
func TestGrow(t *testing.T) {
	line := []string{"send", "cm", "-A", "--to", "http://broker.shop/x", "--image", "i", "--name", "grows"}
	for _, more := range [][]string{nil, {"--lease", "feed"}, {"--shard", "auto/12"}, {"--settle", "1m", "--give-up-after", "1h"}, nil} {
		if _, err := kubectl([]byte(manifests(t, append(slices.Clone(line), more...)...)), "apply", "-f", "-"); err != nil {
			t.Errorf("%q: %v", more, err)
		}
	}
}

// TestPartOf checks that the chart accepts the values enabled and global, which a parent chart may set.
func TestPartOf(t *testing.T) {
	if _, err := rendered([]byte("{enabled: true, global: {a: 1}, image: {repository: i}, args: [cm, '--listen=:9090']}")); err != nil {
		t.Error(err)
	}
}

// TestFewerShards checks that the chart renders with more replicas than shards. The pods of removed shards stay until they
// have handed over.
func TestFewerShards(t *testing.T) {
	if _, err := rendered([]byte("{image: {repository: i}, args: [cm, '--listen=:9090', '--shard=auto/2'], replicas: 12}")); err != nil {
		t.Error(err)
	}
}

// TestLint: Helm finds nothing wrong, whatever the values.
func TestLint(t *testing.T) {
	values := []string{"", everything}
	for _, args := range lines(t) {
		values = append(values, manifests(t, append([]string{"--helm-values"}, args...)...))
	}
	for _, text := range values {
		own, err := common.ReadValues([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range lint.RunAll(directory, own, namespace).Messages {
			if m.Severity > support.InfoSev {
				t.Errorf("%v, with\n%s", m, text)
			}
		}
	}
}

// TestSchema: whatever values.yaml has is in the schema, and the reverse.
func TestSchema(t *testing.T) {
	c, err := loader.Load(directory)
	if err != nil {
		t.Fatal(err)
	}
	var schema struct{ Properties map[string]any }
	if err := yaml.Unmarshal(c.Schema, &schema); err != nil {
		t.Fatal(err)
	}
	delete(schema.Properties, "global") // of a chart that this one is a part of
	delete(schema.Properties, "enabled")
	if diff := cmp.Diff(slices.Sorted(maps.Keys(c.Values)), slices.Sorted(maps.Keys(schema.Properties))); diff != "" {
		t.Error(diff)
	}
}
