package expression

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"dwatch/testdata/processor"
	"dwatch/watcher/event"
)

// bigObject returns an object of 1 MB with a list, a map and a long string.
func bigObject(t testing.TB) string {
	t.Helper()
	var items []any
	labels := map[string]any{}
	for i := range 5_000 {
		items = append(items, map[string]any{"name": fmt.Sprintf("item-%d", i), "n": i, "text": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"})
		labels[fmt.Sprintf("label-%d", i)] = fmt.Sprint(i)
	}
	text, err := json.Marshal(map[string]any{"kind": "ConfigMap", "items": items, "labels": labels, "text": strings.Repeat("a", 500_000)})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestCostLimit checks that expensive expressions on an object of 1 MB end with an error before
// they take much time or memory.
func TestCostLimit(t *testing.T) {
	e := event.Event{Type: event.Modified, Object: object(bigObject(t)), Old: object(`{"kind":"ConfigMap"}`), Time: clock}
	deep := func(inner, layer string, times int) string {
		for range times {
			inner = fmt.Sprintf(layer, inner)
		}
		return inner
	}
	for _, text := range []string{
		"object.items.all(a, object.items.all(b, object.items.all(c, a.n + b.n + c.n >= 0)))",
		"object.items.exists(a, object.items.exists(b, a.name == b.text))",
		"object.items.map(a, object.items.map(b, object.items)).size() == 0",
		"object.items.filter(a, object.items.filter(b, a == b).size() > 7).size() == 7",
		"object.labels.all(a, object.labels.all(b, a + b != ''))",
		"object.items.all(a, object.text + a.text != object.text)",
		"object.items.all(a, object.text.contains(a.text))",
		"object.items.map(a, object.text).join(',') == ''",
		"object.text.replace('a', object.text) == ''",
		"object.text.replace('', object.text) == ''",
		"object.text.matches('(a?){100}(a?){100}b')",
		"object.text.matches('^(a|aa|aaa)*' + object.items.map(i, 'a').join('') + '$')",
		"object.items.exists(a, object.text.matches('^(a+)+' + string(a.n) + '$'))",
		"regex.replace(object.text, '(a*)', '" + strings.Repeat(`\\1`, 500) + "') == ''",
		"regex.extractAll(object.text, '.*(.)').size() > object.items.map(a, regex.extractAll(object.text, '.').size()).size()",
		"'" + strings.Repeat("%s", 200) + "'.format([" + strings.TrimSuffix(strings.Repeat("object.text,", 200), ",") + "]) == ''",
		"'" + strings.Repeat("%s", 2000) + "'.format(lists.range(2000).map(i, object)) == ''",
		"'%s'.format([" + deep("object.text", "[%[1]s,%[1]s,%[1]s,%[1]s]", 5) + "]) == ''",
		"lists.range(1000000000).size() == 1",
		"lists.range(100000).map(a, lists.range(100000)).size() == 1",
		"lists.range(5000).map(a, object.items).flatten().size() == 1",
		"object.items.distinct().size() == 1",
		"lists.range(5000).distinct().size() == 1",
		"sets.equivalent(object.items, object.items.reverse())",
		"sets.contains(object.items, object.items.map(i, i.n))",
		"object.items.all(i, object.items.sortBy(j, j.text).size() > 1)",
		"object.text.split('').map(c, object.text.split('')).size() == 1",
		"object.items.all(i, object.text.split('a').join('b').size() > i.n)",
		"[object.text].map(a, a + a).map(a, a + a).map(a, a + a).map(a, a + a).map(a, a + a).map(a, a + a).all(a, a == '')",
		"object.items.all(i, object.text.lowerAscii() != i.text)",
		"object.items.all(i, object.text.reverse() != i.text)",
		"object.items.all(i, int(string(i.n) + object.text) == 0)",
		"object.items.all(i, strings.quote(object.text) != '')",
		"object.items.all(i, bytes(object.text) != b'')",
		"object.items.all(i, object.items.map(j, i).exists(j, j == i && j.n < 0) == false)",
		"object.items.all(i, object.items.size() == 5000 && object.items.all(j, [i, j, i, j] != []))",
		"object.items.exists(i, jsonpath(object, '{..name}').size() == 0)",
		"jsonpath(object, '{..[*]..[*]..[*]}').size() == 0",
		"jsonpath(object, '{" + strings.Repeat("[*,*,*,*,*]", 20) + "}').size() == 0",
		"jsonpath(object, '{" + strings.Repeat("..[?(@..n>1)]", 20) + "}').size() == 0",
		"object.items.all(i, changes.all(c, c.path != '' && object.items.all(j, has(j.n))))",
	} {
		x, err := Compile(text)
		if err != nil {
			t.Errorf("%.100s: %v", text, err)
			continue
		}
		in := NewInput(e, testOptions())
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := processor.Time()
		_, err = x.Matches(in)
		took := processor.Time() - start
		runtime.ReadMemStats(&after)
		var mistake *Error
		if !errors.As(err, &mistake) || strings.Contains(mistake.Message, "does not take") {
			t.Errorf("%.100s: %v", text, err)
		}
		// Usually about 0.3 s, but much more with the race detector.
		if took > 10*time.Second {
			t.Errorf("%.100s: took %v", text, took)
		}
		if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 500e6 {
			t.Errorf("%.100s: allocated %d MB", text, allocated/1e6)
		}
		t.Logf("%8.1f ms %6.1f MB %.90s: %v", float64(took.Microseconds())/1e3, float64(after.TotalAlloc-before.TotalAlloc)/1e6, text, err)
	}
}

// TestTextLimits checks that Compile quickly rejects expressions that are too long, too deep or malformed.
func TestTextLimits(t *testing.T) {
	for _, text := range []string{
		strings.Repeat("(", 5_000) + "true" + strings.Repeat(")", 5_000),
		strings.Repeat("!(", 5_000) + "true" + strings.Repeat(")", 5_000),
		"type.matches('(a?){400}(a?){400}b')",
		strings.Repeat("[", 5_000),
		"true" + strings.Repeat(" && true", 10_000),
		"object" + strings.Repeat(".a", 5_000) + " == 1",
		"1" + strings.Repeat("+1", 5_000) + " == 1",
		strings.Repeat("object.all(a, ", 300) + "true" + strings.Repeat(")", 300),
		"'" + strings.Repeat("a", 20_000) + "' == 'a'",
		"type.matches('" + strings.Repeat("(", 1000) + "a" + strings.Repeat("){9}", 1000) + "')",
		strings.Repeat("true ? ", 1000) + "true",
		"[" + strings.Repeat("1,", 9_000) + "1].size() == 1",
		strings.Repeat("\x00", 100),
		strings.Repeat("'", 1001),
		"\xff\xfe == 'a'",
	} {
		start := processor.Time()
		_, err := Compile(text)
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%.60q: got error %v, want an *Error", text, err)
			continue
		}
		if took := processor.Time() - start; took > 5*time.Second {
			t.Errorf("%.60q: took %v", text, took)
		}
		if len(e.Error()) > 300 || strings.ContainsAny(e.Error(), "\n\x00") {
			t.Errorf("%.60q: message is too long or has control characters: %q", text, e)
		}
		t.Logf("%.60q: %v", text, e)
	}
}
