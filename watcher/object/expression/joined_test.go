package expression

import (
	"fmt"
	"strings"
	"testing"

	"dwatch/watcher/event"
)

// happened are events of which words hold, and others; of each it is known what was before.
func happened() []event.Event {
	pod := func(restarts int, image, ready, condition string) string {
		return fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"},"spec":{"containers":[{"name":"web","image":%q}]},"status":{"phase":"Running","conditions":[{"type":"Ready","status":%q}%s],"containerStatuses":[{"name":"web","restartCount":%d}]}}`, image, ready, condition, restarts)
	}
	well := pod(0, "web:1", "True", "")
	evicted := pod(0, "web:1", "False", `,{"type":"DisruptionTarget","status":"True","reason":"EvictionByEvictionAPI"}`)
	set := func(replicas int) string {
		return fmt.Sprintf(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"spec":{"replicas":%d}}`, replicas)
	}
	return []event.Event{
		modified(well, pod(1, "web:1", "True", "")),
		modified(well, pod(1, "web:2", "False", "")),
		modified(well, evicted),
		modified(well, well),
		modified(set(1), set(2)),
		{Type: event.Added, Object: object(well), Time: clock},
		{Type: event.Added, Initial: true, Object: object(evicted), Time: clock},
		{Type: event.Deleted, Object: object(well), Time: clock},
	}
}

// TestJoinedWords: words that are joined mean what each of them does.
func TestJoinedWords(t *testing.T) {
	held := map[string]int{}
	for n, e := range happened() {
		is := map[string]bool{}
		for _, word := range Presets() {
			holds, err := evaluate(t, word, e)
			if err != nil {
				t.Fatalf("%d: %s: %v", n, word, err)
			}
			if is[word] = holds; holds {
				held[word]++
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
						t.Errorf("%d: %s: %v, %v", n, text, holds, err)
					}
				}
			}
		}
	}
	for _, word := range []string{"changed", "deleted", "evicted", "newimage", "restarted", "scaled"} {
		if held[word] == 0 || held[word] == len(happened()) {
			t.Errorf("%s holds of %d", word, held[word])
		}
	}
}

// TestNoWords: what looks like a word is none in texts, comments, fields, functions and names of items.
func TestNoWords(t *testing.T) {
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
			t.Errorf("%s: %v, %v", text, holds, err)
		}
	}
}

// TestWrongWords: what is wrong beside words is said as it was written.
func TestWrongWords(t *testing.T) {
	for text, want := range map[string]string{
		"restarted || restartd":                    "column 14: there is no restartd; did you mean restarted?",
		"restarted ||":                             "column 13: the expression ends too early",
		"restarted or evicted":                     "column 11: there is no or: write ||",
		"restarted == 1":                           "== does not take bool and int",
		"restarted && nope":                        "column 14: there is no nope: ",
		strings.Repeat("config||", 999) + "config": "with what its words stand for, the expression is longer than 16384 characters",
	} {
		_, err := Compile(text)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.50s: %v", text, err)
		}
	}
	x, err := Compile("unready && object.spec.nodeName > 1")
	if err != nil {
		t.Fatal(err)
	}
	if text := x.String(); !strings.HasPrefix(text, "(type == 'MODIFIED' && !unready(old) && ") {
		t.Error(text)
	}
	for text, want := range map[string]string{
		"unready || restarted || evicted && object.kind == 'Pod'": "",
		"unready || scaled":            "scaled is of what happens: this looks at the objects as they are, and takes ",
		"unready || old == null":       "old and changes are of events: ",
		"!ready && type == 'MODIFIED'": "",
	} {
		_, err := CompileForObjects(text)
		if (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
