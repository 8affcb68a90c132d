package change

import (
	"testing"
)

func TestNoise(t *testing.T) {
	standard := Options{Noise: DefaultNoise()}
	for _, c := range []diffTest{
		{name: "fields that every write sets", options: standard,
			old:  `{metadata: {resourceVersion: "1", generation: 1, managedFields: [{manager: a, time: x}, {manager: b}], labels: {a: b}}, spec: {replicas: 1}}`,
			new:  `{metadata: {resourceVersion: "2", generation: 2, managedFields: [{manager: a, time: z}, {manager: c}, {manager: d}], labels: {a: b}}, spec: {replicas: 2}}`,
			want: []string{`changed spec.replicas 1 -> 2`, `+3 noise`}},
		{name: "only noise", options: standard, old: `{metadata: {resourceVersion: "1"}}`, new: `{metadata: {resourceVersion: "2"}}`, want: []string{"+1 noise"}},
		{name: "observedGeneration at any depth", options: standard,
			old:  `{spec: {observedGeneration: 1}, status: {observedGeneration: 1, parents: [{conditions: [{type: A, observedGeneration: 1, reason: x}]}]}}`,
			new:  `{spec: {observedGeneration: 2}, status: {observedGeneration: 2, parents: [{conditions: [{type: A, observedGeneration: 2, reason: z}]}]}}`,
			want: []string{`changed spec.observedGeneration 1 -> 2`, `changed status.parents[0].conditions[type=A].reason "x" -> "z"`, `+2 noise`}},
		{name: "a map with only noise is added", options: standard,
			old: `{metadata: {name: a}}`, new: `{metadata: {name: a, annotations: {deployment.kubernetes.io/revision: "1"}}}`, want: []string{"+1 noise"}},
		{name: "a map with more is added", options: standard,
			old: `{metadata: {}}`, new: `{metadata: {annotations: {deployment.kubernetes.io/revision: "1", team: a}}}`, want: []string{`added metadata.annotations -> {"team":"a"}`, "+1 noise"}},
		{name: "a status is removed", options: standard,
			old: `{status: {observedGeneration: 1, conditions: [{type: A, lastUpdateTime: x}, {type: B, lastHeartbeatTime: x}], x: {}, l: []}}`, new: `{}`,
			want: []string{`removed status {"conditions":[{"type":"A"},{"type":"B"}],"l":[],"x":{}}`, "+3 noise"}},
		{name: "conditions in another order", options: standard,
			old:  `{status: {conditions: [{type: A}, {type: B}, {type: C, reason: x}]}}`,
			new:  `{status: {conditions: [{type: B}, {type: C, reason: z}, {type: A}]}}`,
			want: []string{`changed status.conditions[type=C].reason "x" -> "z"`, "+1 noise"}},
		{name: "0 and a missing number", options: standard,
			old:  `{spec: {c: 0}, status: {a: 1, c: 0, d: 0, t: "0"}}`,
			new:  `{spec: {}, status: {b: 0, d: 1}}`,
			want: []string{`removed spec.c 0`, `removed status.a 1`, `changed status.d 0 -> 1`, `removed status.t "0"`, "+2 noise"}},
		{name: "a container restarts", options: standard,
			old:  `{status: {podIP: x, podIPs: [{ip: x}], containerStatuses: [{name: a, containerID: x, lastState: {}, restartCount: 1, state: {running: {startedAt: x}}}]}}`,
			new:  `{status: {podIP: x, podIPs: [{ip: x}, {ip: z}], startTime: x, containerStatuses: [{name: a, containerID: z, lastState: {terminated: {exitCode: 1, containerID: x, startedAt: x, finishedAt: z}}, restartCount: 2, state: {running: {startedAt: z}}}]}}`,
			want: []string{`added status.containerStatuses[name=a].lastState.terminated -> {"exitCode":1}`, `changed status.containerStatuses[name=a].restartCount 1 -> 2`, `changed status.containerStatuses[name=a].state.running.startedAt "x" -> "z"`, "+6 noise"}},
		{name: "only", options: Options{Only: patterns(t, "spec.containers[*].image", "spec.containers[name=b].env"), Noise: DefaultNoise()},
			old:  `{metadata: {resourceVersion: "1"}, spec: {replicas: 1, containers: [{name: a, image: x, tty: true}, {name: b, image: x, env: [{name: q, value: x}]}]}}`,
			new:  `{metadata: {resourceVersion: "2"}, spec: {replicas: 2, containers: [{name: b, image: z, env: [{name: q, value: z}]}, {name: a, image: x, tty: false}]}}`,
			want: []string{`changed spec.containers[name=b].env[name=q].value "x" -> "z"`, `changed spec.containers[name=b].image "x" -> "z"`}},
		{name: "only, in values that were added and removed", options: Options{Only: patterns(t, "spec.containers[*].image", "status.x[1]")},
			old:  `{spec: {containers: [{name: a, image: x, tty: true}]}, status: {x: [5, 6, 7], z: 1}}`,
			new:  `{spec: {containers: [{name: b, image: z}]}}`,
			want: []string{`removed spec.containers[name=a].image "x"`, `added spec.containers[name=b].image -> "z"`, `removed status.x[1] 6`}},
		{name: "only, of noise", options: Options{Only: patterns(t, "metadata.generation", "metadata.managedFields[manager=a].time"), Noise: DefaultNoise()},
			old:  `{metadata: {resourceVersion: "1", generation: 1, managedFields: [{manager: a, time: x}]}}`,
			new:  `{metadata: {resourceVersion: "2", generation: 2, managedFields: [{manager: a, time: z}]}}`,
			want: []string{`changed metadata.generation 1 -> 2`, `changed metadata.managedFields[0].time "x" -> "z"`}},
		{name: "only, with noise in it", options: Options{Only: patterns(t, "metadata"), Noise: DefaultNoise()},
			old:  `{metadata: {resourceVersion: "1", labels: {a: b}}, x: 1}`,
			new:  `{metadata: {resourceVersion: "2", labels: {a: c}}, x: 2}`,
			want: []string{`changed metadata.labels.a "b" -> "c"`, "+1 noise"}},
		{name: "noise by key", options: Options{Noise: Noise{Paths: patterns(t, "spec.env[name=A]", "spec.args")}},
			old:  `{spec: {env: [{name: A, value: x}, {name: B, value: x}], args: [a, b]}}`,
			new:  `{spec: {env: [{name: A, value: z, more: 1}, {name: C}], args: [b]}}`,
			want: []string{`removed spec.env[name=B] {"name":"B","value":"x"}`, `added spec.env[name=C] -> {"name":"C"}`, "+2 noise"}},
	} {
		t.Run(c.name, c.run)
	}
}

// TestDefaultNoise checks that a caller that modifies the result does not affect other callers.
func TestDefaultNoise(t *testing.T) {
	a := DefaultNoise()
	a.Paths = append(a.Paths[:1], patterns(t, "spec")...)
	if b := DefaultNoise(); b.Paths.Match(Path{field("spec")}) {
		t.Error("DefaultNoise returned a modified result")
	}
}
