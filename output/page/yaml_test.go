package page

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestYAML tests an object at a past time and the diff between two times, both masked.
func TestYAML(t *testing.T) {
	t.Parallel()
	h := newHub()
	s := serve(t, h)
	first, second, third := pod("a", "u1", "1", "Pending"), pod("a", "u1", "2", "Running"), pod("a", "u1", "3", "Failed")
	deliver(t, h, added(pods, first, 0), modified(pods, first, second, 10), modified(pods, second, third, 20))
	secret := func(version, value string) string {
		return `},"data":{"password":"` + value + `"}`
	}
	before, now := object("Secret", "s", "us", "1", secret("1", "b25l")), object("Secret", "s", "us", "2", secret("2", "dHdv"))
	deliver(t, h, added(secrets, before, 0), modified(secrets, before, now, 10))
	ask := func(key string, parameters string) message { return s.get(t, "/api/yaml?key="+key+parameters) }
	code := func(query string) int {
		response, _ := send(t, s.request(t, "GET", "/api/yaml?"+query))
		return response.StatusCode
	}
	when := func(name string, second int) string { return fmt.Sprintf("&%s=%d", name, millis(at(second))) }

	for second, phase := range map[int]string{0: "Pending", 9: "Pending", 10: "Running", 25: "Failed"} {
		m := ask("pods/u1", when("at", second))
		if !strings.Contains(m.text("yaml"), "phase: "+phase) || m["diff"] != nil || m["unsure"] != nil {
			t.Errorf("at %d: %v", second, m)
		}
	}
	m := ask("pods/u1", when("at", 20)+when("from", 0))
	if got := fmt.Sprint(m["diff"]); !strings.Contains(got, "-  phase: Pending") || !strings.Contains(got, "+  phase: Failed") || m["until"] != nil {
		t.Errorf("the difference: %v", m)
	}
	if m := ask("pods/u1", when("at", 10)+when("from", 10)); m["diff"] != nil || m.number("until") != uint64(millis(at(20))) {
		t.Errorf("nothing differs: %v", m)
	}
	if got := ask("secrets/us", when("at", 10)+when("from", 0)); strings.Contains(fmt.Sprint(got), "b25l") || strings.Contains(fmt.Sprint(got), "dHdv") {
		t.Errorf("a Secret is shown: %v", got)
	}
	deliver(t, h, deleted(pods, third, 30))
	if m := ask("pods/u1", when("at", 40)); m["ended"] != true || m.number("time") != uint64(millis(at(30))) {
		t.Errorf("it is gone: %v", m)
	}
	if m := ask("pods/u1", when("at", 25)); m["ended"] != nil {
		t.Errorf("it is there: %v", m)
	}
	for _, query := range []string{"key=pods/u1", "key=pods/u1&at=x", "key=pods/u1" + when("at", -1), "key=pods/u1" + when("at", 0) + "&from=", "at=1"} {
		if got := code(query); got != http.StatusBadRequest {
			t.Errorf("%s: %d", query, got)
		}
	}
	if got := code("key=pods/none" + when("at", 0)); got != http.StatusNotFound {
		t.Errorf("no object: %d", got)
	}
}
