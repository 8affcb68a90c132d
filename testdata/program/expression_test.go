//go:build unix

package program

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"dwatch/cli/fail"
)

// TestWrongExpressions checks that an invalid expression is a usage error of one line, before dwatch sends a request.
func TestWrongExpressions(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../watcher/object/expression/testdata/compile_errors.txt")
	if err != nil {
		t.Fatal(err)
	}
	wrong := []string{
		"", " \n", "object.a\n== = 3", "\x1b[2J == 'a'", "\xff\xfe == 'a'",
		strings.Repeat("(", 5_000) + "true" + strings.Repeat(")", 5_000),
		"true" + strings.Repeat(" && true", 10_000),
		"'" + strings.Repeat("a", 20_000) + "' == 'a'",
		"type.matches('(a?){400}(a?){400}b')",
	}
	number := 0
	for line := range strings.Lines(string(text)) {
		if line != "\n" && line[0] != '\t' {
			if number++; number%4 == 0 {
				wrong = append(wrong, strings.TrimSuffix(line, "\n"))
			}
		}
	}
	if len(wrong) < 30 {
		t.Fatalf("%d expressions", len(wrong))
	}
	server, reached := mute(t)
	flags := []string{"--where", "--until", "--fail-if"}
	for i, expression := range wrong {
		flag := flags[i%len(flags)]
		p := startPiped(t, "", "cm", "--server", "http://"+server, flag, expression)
		p.endsWithin(t, soon, fail.ExitUsage, "error: invalid "+flag+": [^\n]+\n")
		if bad := stderrProblem(p.stderr.String()); bad != "" {
			t.Errorf("%.100q: %s in stderr:\n%s", expression, bad, p.stderr.String())
		}
		if out := p.rest(t); len(out) > 0 {
			t.Errorf("%.100q: stdout: %s", expression, out)
		}
	}
	select {
	case <-reached:
		t.Error("dwatch sent a request")
	default:
	}
}

// TestExpensiveExpressions checks that dwatch soon stops evaluating an expression that is too expensive for an object of
// 1 MB, warns about it once, and keeps watching.
func TestExpensiveExpressions(t *testing.T) {
	t.Parallel()
	o, kubeconfig := room(t)
	client := configMapsOf(o)
	for name, n := range map[string]int{"small": 2, "big": 500_000} {
		data := map[string]any{"text": strings.Repeat("a", n)}
		for i := range n / 100 {
			data[fmt.Sprintf("key-%d", i)] = strings.Repeat("b", 80)
		}
		u := newConfigMap(name)
		u.Object["data"] = data
		if _, err := client.Create(t.Context(), u, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	const changes = 3
	expressions := []string{ // all hold for the small object
		"object.data.all(a, object.data.all(b, a + b != ''))",
		"object.data.map(a, object.data.map(b, object.data)).size() > 0",
		"object.data.text.replace('', object.data.text) != ''",
		"!object.data.text.matches('(a?){100}(a?){100}b')",
		"object.data.all(k, object.data.text.split('').map(c, object.data.text.split('')).size() > 0)",
	}
	var running []*piped
	began := time.Now()
	for _, expression := range expressions {
		p := startPiped(t, kubeconfig, "cm", "--where", expression, "-o", "name")
		p.reads(t, "configmap/small")
		p.says(t, "can't be evaluated")
		running = append(running, p)
	}
	for i := range changes {
		for _, name := range []string{"big", "small"} {
			patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"n":"%d"}}}`, i)
			if _, err := client.Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i, p := range running {
		for range changes {
			p.reads(t, "configmap/small")
		}
		p.signal(os.Interrupt)
		line := regexp.QuoteMeta(fmt.Sprintf("%q does not hold for cm/big, as it can't be evaluated: ", expressions[i])) + "the expression takes too long or too much memory for this object\n"
		p.ends(t, fail.ExitOK, "watching .*\n"+line)
	}
	// Each event of the big object takes about 0.3 s, and more with the race detector.
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it took %v", took)
	}
}
