package expression

import (
	"fmt"
	"strings"
	"testing"

	"dwatch/watcher/event"
)

// sampleEvents returns events that match different presets. The old state of each is known.
func sampleEvents() []event.Event {
	pod := func(restarts int, image, ready, condition string) string {
		return fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"},"spec":{"containers":[{"name":"web","image":%q}]},"status":{"phase":"Running","conditions":[{"type":"Ready","status":%q}%s],"containerStatuses":[{"name":"web","restartCount":%d}]}}`, image, ready, condition, restarts)
	}
	healthy := pod(0, "web:1", "True", "")
	evicted := pod(0, "web:1", "False", `,{"type":"DisruptionTarget","status":"True","reason":"EvictionByEvictionAPI"}`)
	set := func(replicas int) string {
		return fmt.Sprintf(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"spec":{"replicas":%d}}`, replicas)
	}
	return []event.Event{
		modified(healthy, pod(1, "web:1", "True", "")),
		modified(healthy, pod(1, "web:2", "False", "")),
		modified(healthy, evicted),
		modified(healthy, healthy),
		modified(set(1), set(2)),
		{Type: event.Added, Object: object(healthy), Time: clock},
		{Type: event.Added, Initial: true, Object: object(evicted), Time: clock},
		{Type: event.Deleted, Object: object(healthy), Time: clock},
	}
}

// TestPresetsInExpressions checks that presets have the same result inside larger expressions as alone.
func TestPresetsInExpressions(t *testing.T) {
	matches := map[string]int{}
	for n, e := range sampleEvents() {
		is := map[string]bool{}
		for _, word := range Presets() {
			holds, err := evaluate(t, word, e)
			if err != nil {
				t.Fatalf("event %d: %s: %v", n, word, err)
			}
			if is[word] = holds; holds {
				matches[word]++
			}
		}
		for _, a := range []string{"evicted", "restarted", "unready", "ready"} {
			for _, b := range []string{"deleted", "restarted", "scaled", "newimage"} {
				for text, want := range map[string]bool{
					a + "||" + b:                    is[a] || is[b],
					"(" + a + " && " + b + " ) ":    is[a] && is[b],
					"!" + a + " || \n !(" + b + ")": !is[a] || !is[b],
					a + " ? !" + b + " : " + b:      is[a] != is[b],
					"type == 'MODIFIED' && " + a + " && cluster != '" + b + "' // or " + b:  e.Type == event.Modified && is[a],
					"object.kind == 'Pod' && " + a + " || changed('spec.replicas') && " + b: strings.Contains(e.Object.Raw(), `"Pod"`) && is[a] || is["scaled"] && is[b],
				} {
					if holds, err := evaluate(t, text, e); holds != want || err != nil {
						t.Errorf("event %d: %s: got %v, %v, want %v", n, text, holds, err, want)
					}
				}
			}
		}
	}
	for _, word := range []string{"changed", "deleted", "evicted", "newimage", "restarted", "scaled"} {
		if matches[word] == 0 || matches[word] == len(sampleEvents()) {
			t.Errorf("%s matches %d of %d events, want some but not all", word, matches[word], len(sampleEvents()))
		}
	}
}

// TestPresetNamesInOtherPlaces checks that names of presets are not replaced in strings, comments, fields, functions and
// macro variables.
func TestPresetNamesInOtherPlaces(t *testing.T) {
	e := modified(`{"kind":"Pod","ready":1,"items":[1]}`, `{"kind":"Pod","ready":2,"items":[1,2],"failed":"\"deleted"}`)
	for text, want := range map[string]bool{
		"object.ready == 2 && object . ready == 2 && has(object.ready) && !deleted":     true,
		"object.items.exists(ready, ready == 2)":                                        true,
		`"restarted" == 'restarted' && !restarted`:                                      true,
		`r'\' == '\\' && !deleted && r"""x"deleted""" != ''`:                            true,
		`'''it's deleted''' != "\"deleted" && object.failed == "\"deleted" && !deleted`: true,
		"changed('ready') && changed ('ready') && changed // deleted":                   true,
		"object[?'deleted'].orValue(true) && !deleted":                                  true,
	} {
		if holds, err := evaluate(t, text, e); holds != want || err != nil {
			t.Errorf("%s: got %v, %v, want %v", text, holds, err, want)
		}
	}
}

// TestErrorsWithPresets checks that errors in expressions with presets refer to the text that the user wrote.
func TestErrorsWithPresets(t *testing.T) {
	for text, want := range map[string]string{
		"restarted || restartd":                    "column 14: there is no restartd; did you mean restarted?",
		"restarted ||":                             "column 13: the expression ends too early",
		"restarted or evicted":                     "column 11: there is no or: write ||",
		"restarted == 1":                           "== does not take bool and int",
		"restarted && nope":                        "column 14: there is no nope: ",
		strings.Repeat("config||", 999) + "config": "with its words expanded, the expression is longer than 16384 characters",
	} {
		_, err := Compile(text)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.50s: got error %v, want %s", text, err, want)
		}
	}
	x, err := Compile("unready && object.spec.nodeName > 1")
	if err != nil {
		t.Fatal(err)
	}
	if text := x.String(); !strings.HasPrefix(text, "(type == 'MODIFIED' && !unready(old) && ") {
		t.Errorf("got %s, want the preset expanded", text)
	}
	for text, want := range map[string]string{
		"unready || restarted || evicted && object.kind == 'Pod'": "",
		"unready || scaled":            "scaled describes a change, but this condition is evaluated on current objects: use one of ",
		"unready || old == null":       "old and changes are not available: ",
		"!ready && type == 'MODIFIED'": "",
	} {
		_, err := CompileForObjects(text)
		if (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got error %v, want %q", text, err, want)
		}
	}
}
