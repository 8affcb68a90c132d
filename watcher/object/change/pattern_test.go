package change

import (
	"slices"
	"strings"
	"testing"
)

var examples = map[string]Path{
	"image":      {field("spec"), field("containers"), item(1, Key{"name", "web"}), field("image")},
	"port":       {field("spec"), field("ports"), item(0, Key{"port", int64(80)}, Key{"protocol", "TCP"})},
	"annotation": {field("metadata"), field("annotations"), field("a.b/c")},
	"finalizer":  {field("metadata"), field("finalizers"), value(0, "a.b/c")},
	"rule":       {field("spec"), field("rules"), item(2), field("host")},
	"observed":   {field("status"), field("parents"), item(0), field("observedGeneration")},
	"replicas":   {field("spec"), field("replicas")},
	"digits":     {field("data"), field("2")},
	"status":     {field("status")},
}

// patternExamples contains patterns and the names of the examples that they match.
var patternExamples = map[string]string{
	"spec.replicas":                              "replicas",
	".spec.replicas":                             "replicas",
	"{.spec.replicas}":                           "replicas",
	"{spec.replicas}":                            "replicas",
	"$.spec.replicas":                            "replicas",
	"{$.spec.replicas}":                          "replicas",
	"{@.spec.replicas}":                          "replicas",
	"['spec'].replicas":                          "replicas",
	`$["spec"]["replicas"]`:                      "replicas",
	".['spec'].replicas":                         "replicas",
	"spec":                                       "image port replicas rule",
	".status":                                    "observed status",
	"spec.containers[*].image":                   "image",
	"spec.containers[name=web].image":            "image",
	`spec.containers[name="web"]`:                "image",
	`{.spec.containers[?(@.name=="web")].image}`: "image",
	`{.spec.containers[?( @.name == 'web' )].image}`: "image",
	"spec.containers[name=db].image":                 "",
	"spec.containers[1]":                             "image",
	"spec.containers[0]":                             "",
	"spec.containers.image":                          "",
	"spec.containers.*.image":                        "image",
	"spec.*":                                         "image port replicas rule",
	"spec.*.*.host":                                  "rule",
	"spec.ports[port=80,protocol=TCP]":               "port",
	"spec.ports[protocol=TCP]":                       "port",
	"spec.ports[port=80,protocol=UDP]":               "",
	"spec.ports[port=80,nope=1]":                     "",
	"metadata.annotations[a.b/c]":                    "annotation",
	"metadata.annotations['a.b/c']":                  "annotation",
	`metadata.annotations["a.b/c"]`:                  "annotation",
	`metadata.annotations.a\.b/c`:                    "annotation",
	`{.metadata.annotations.a\.b\/c}`:                "annotation",
	"metadata.annotations[=a.b/c]":                   "",
	"metadata.finalizers[=a.b/c]":                    "finalizer",
	"metadata.finalizers[a.b/c]":                     "",
	"metadata.*[0]":                                  "finalizer",
	"spec.rules[2].host":                             "rule",
	"data[2]":                                        "digits",
	`data["2"]`:                                      "digits",
	"data.2":                                         "digits",
	"[data][2]":                                      "digits",
	"spec.rules[99999999999999999999]":               "",
	"status..observedGeneration":                     "observed",
	"..observedGeneration":                           "observed",
	"{..observedGeneration}":                         "observed",
	"status..parents..observedGeneration":            "observed",
	"..[name=web]":                                   "image",
	"..*":                                            "annotation digits finalizer image observed port replicas rule status",
	"..*..*..*":                                      "annotation finalizer image observed port rule",
	"status..status":                                 "",
	"metadata.managedFields":                         "",
	"spec.replicas.x":                                "",
}

// TestPatternMatchesAnyItemField checks that a pattern finds an item by any of its old or new fields, as JSONPath does.
func TestPatternMatchesAnyItemField(t *testing.T) {
	for only, want := range map[string]int{
		"l[port=80].v": 1, "{.l[?(@.kind=='b')].v}": 1, "{.l[?(@.kind=='c')].v}": 1, "l[name=w].v": 1, "l[kind=e].v": 0, "l[name=x,kind=d].v": 0,
	} {
		old := decode(t, `{l: [{name: x, port: 80, kind: b, v: 1}, {name: w, port: 81, kind: d, v: 1}]}`)
		new := decode(t, `{l: [{name: x, port: 80, kind: c, v: 2}, {name: w, port: 81, kind: d, v: 2}]}`)
		if got := len(diffObjects(old, new, Options{Only: patterns(t, only)}).Changes); got != want {
			t.Errorf("%s: %d changes, want %d", only, got, want)
		}
	}
}

func TestPattern(t *testing.T) {
	for text, want := range patternExamples {
		p, err := ParsePattern(text)
		if err != nil {
			t.Error(err)
			continue
		}
		var got []string
		for _, name := range []string{"annotation", "digits", "finalizer", "image", "observed", "port", "replicas", "rule", "status"} {
			if p.Match(examples[name]) {
				got = append(got, name)
			}
		}
		if strings.Join(got, " ") != want || p.String() != text {
			t.Errorf("%s matches %q, want %q", p, got, want)
		}
	}
	if (Pattern{}).Match(examples["image"]) || (Patterns)(nil).Match(Path{}) {
		t.Error("an empty pattern matches")
	}
}

// TestPatternBelowPath checks whether a pattern could match below a path.
func TestPatternBelowPath(t *testing.T) {
	for text, want := range map[string]bool{
		"spec.rules[2].host.x": true, "spec.rules[2].host": false, "spec": false, "spec.rules[1].host.x": false,
		"..x": true, "spec..x.y": true, "status..x": false, "spec.*.*.*.*": true,
	} {
		if _, below := patterns(t, text).match(examples["rule"]); below != want {
			t.Errorf("%s: got %v, want %v", text, below, want)
		}
	}
}

// TestPatternErrors checks the messages of invalid patterns and their positions.
func TestPatternErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                           `character 1: the name of a field is missing`,
		".":                          `character 2: the name of a field is missing`,
		"$":                          `character 2: the name of a field is missing`,
		"{}":                         `character 2: the name of a field is missing`,
		"{.spec":                     `character 7: "}" is missing`,
		"$spec":                      `character 2: "." or "[" is missing`,
		"spec.":                      `character 6: the name of a field is missing`,
		"spec...a":                   `character 7: the name of a field is missing`,
		"spec.[0]":                   `character 6: the name of a field is missing`,
		"spec a":                     `character 5: ' ' must be in brackets and quotes`,
		"spec.replicas=3":            `character 14: '=' must be in brackets and quotes`,
		"{.spec}{.status}":           `character 7: '}' must be in brackets and quotes`,
		"spec.x}":                    `character 7: '}' must be in brackets and quotes`,
		`spec.a\`:                    `character 7: no character after the backslash`,
		"spec.ä[":                    `character 8: a name or a value is missing; an empty one is ""`,
		"spec.a[name=web":            `character 7: "]" is missing`,
		"spec.a[name=web].b[c=d":     `character 19: "]" is missing`,
		"spec.a[*":                   `character 7: "]" is missing`,
		"spec.a[]":                   `character 8: a name or a value is missing; an empty one is ""`,
		"spec.a[name=]":              `character 13: a name or a value is missing; an empty one is ""`,
		"spec.a[name=web]b":          `character 17: "." or "[" is missing`,
		"spec.a[name=web,protocol]":  `character 17: "=" and a value are missing after the key "protocol"`,
		"spec.a[name==web]":          `character 13: use a single "=" in brackets`,
		"spec.a[name='web]":          `character 13: the closing quote is missing`,
		`spec.a["\q"]`:               `character 8: invalid quoted string "\q"`,
		"spec.a[a b]":                `character 9: ' ' must be in quotes`,
		"spec.a['b'x]":               `character 11: "]" is missing before 'x'`,
		"spec.a['b','c']":            `character 11: unions are not supported, use several paths`,
		"spec.a[0:2]":                `character 8: 0:2 is not an index; indexes start at 0, and slices are not supported`,
		"spec.a[:]":                  `character 8: : is not an index; indexes start at 0, and slices are not supported`,
		"spec.a[-1]":                 `character 8: -1 is not an index; indexes start at 0, and slices are not supported`,
		"spec.a[?(@.x>1)]":           `character 13: "==" is missing, the only supported filter is @.key=="value"`,
		"spec.a[?(@.x.y==1)]":        `character 13: "==" is missing, the only supported filter is @.key=="value"`,
		"spec.a[?(x==1)]":            `character 10: "@." and a key are missing`,
		`spec.a[?(@.x=="1" && @.y)]`: `character 19: ")" is missing`,
		`spec.a[?(@.x=="1")`:         `character 7: "]" is missing`,
		"spec.(a)":                   `character 6: '(' must be in brackets and quotes`,
		"range .items[*]":            `character 6: ' ' must be in brackets and quotes`,
	} {
		_, err := ParsePattern(text)
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%q: got %v\nwant %s", text, err, want)
		}
	}
}

func TestFixedPrefix(t *testing.T) {
	for text, want := range map[string][]string{
		"spec.replicas":            {"spec", "replicas"},
		"spec.containers[*].image": {"spec", "containers"},
		"spec.ports[port=80].name": {"spec", "ports"},
		"metadata.labels[a/b]":     {"metadata", "labels", "a/b"},
		"status..reason":           {"status"},
		"..image":                  nil,
		"spec.rules[0].host":       {"spec", "rules"},
		"metadata.finalizers[=a]":  {"metadata", "finalizers"},
	} {
		p, err := ParsePattern(text)
		if got := p.FixedPrefix(); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %q, %v, want %q", text, got, err, want)
		}
	}
}
