package page

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
)

// names returns the names of the items of an answer.
func names(m message) string {
	var all []string
	for _, i := range m["items"].([]any) {
		all = append(all, message(i.(map[string]any)["row"].(map[string]any)).text("name"))
	}
	return strings.Join(all, " ")
}

// TestObjects tests the selection and the paging of /api/objects.
func TestObjects(t *testing.T) {
	t.Parallel()
	h := newHub()
	s := serve(t, h)
	for i := range 7 {
		deliver(t, h, added(pods, pod(fmt.Sprint("p", i), fmt.Sprint("u", i), fmt.Sprint(i), "Running"), i))
	}
	deliver(t, h, added(secrets, object("Secret", "s", "us", "9", "}"), 9), deleted(pods, pod("p3", "u3", "10", "Running"), 10))
	for query, want := range map[string]string{
		"":                             "p0 p1 p2 p4 p5 p6 s",
		"resource=pods":                "p0 p1 p2 p4 p5 p6",
		"resource=nope":                "",
		"namespace=shop&name=p1":       "p1",
		"namespace=other":              "",
		"labelSelector=app%3Dp2":       "p2",
		"labelSelector=app+in+(p2,p4)": "p2 p4",
		"labelSelector=!app":           "s",
		"key=pods/u1&key=secrets/us":   "p1 s",
		"key=pods/u3":                  "",
		"resource=pods&limit=2":        "p0 p1",
		"resource=pods&object=true":    "p0 p1 p2 p4 p5 p6",
	} {
		if got := names(s.get(t, "/api/objects?"+query)); got != want {
			t.Errorf("%s: %q instead of %q", query, got, want)
		}
	}
	var all []string
	next := ""
	for range 10 {
		m := s.get(t, "/api/objects?resource=pods&limit=4&continue="+next)
		if m["total"] != 6.0 {
			t.Errorf("total: %v", m["total"])
		}
		all = append(all, names(m))
		if m["continue"] == nil {
			break
		}
		next = m.text("continue")
	}
	if strings.Join(all, "|") != "p0 p1 p2 p4|p5 p6" {
		t.Errorf("pages: %q", all)
	}
}

// TestLargePage tests that a page of an answer ends when it exceeds maxAnswer.
func TestLargePage(t *testing.T) {
	t.Parallel()
	h := newHub()
	s := serve(t, h)
	for i := range 4 {
		deliver(t, h, added(pods, object("Pod", fmt.Sprint("p", i), fmt.Sprint("u", i), "1", `},"data":"`+strings.Repeat("x", 3<<20)+`"`), i))
	}
	if m := s.get(t, "/api/objects?object=true"); names(m) != "p0" || m["continue"] == nil {
		t.Errorf("%s, continue %v", names(m), m["continue"])
	}
}

// TestDetail tests /api/object: owned objects, conditions and history.
func TestDetail(t *testing.T) {
	t.Parallel()
	h := newHub()
	s := serve(t, h)
	rest := func(status string) string {
		return `},"status":{"phase":"Running","conditions":[{"type":"Ready","status":"` + status + `","reason":"R","message":"m","lastTransitionTime":"t"}]}`
	}
	before, now := object("Pod", "a", "u1", "1", rest("True")), object("Pod", "a", "u1", "2", rest("False"))
	owned := object("Pod", "b", "u2", "3", `,"ownerReferences":[{"kind":"Pod","name":"a","uid":"u1","controller":true}]}`)
	deliver(t, h, added(pods, before, 0), modified(pods, before, now, 1), added(pods, owned, 2))
	m := s.get(t, "/api/object?key=pods/u1")
	if got := fmt.Sprint(m["conditions"]); got != "[map[message:m reason:R status:False time:t type:Ready]]" {
		t.Errorf("conditions: %s", got)
	}
	if rows := m["owned"].([]any); len(rows) != 1 || rows[0].(map[string]any)["key"] != "pods/u2" {
		t.Errorf("owned: %v", rows)
	}
	items := m["history"].(map[string]any)["items"].([]any)
	if len(items) != 2 || fmt.Sprint(items[1].(map[string]any)["changes"]) != "[map[new:False old:True path:status.conditions[type=Ready]]]" {
		t.Errorf("history: %v", items)
	}
	if !strings.HasPrefix(m.text("yaml"), "apiVersion: v1\nkind: Pod\n") || m["row"].(map[string]any)["segments"] == nil {
		t.Errorf("%v", m)
	}
	deliver(t, h, deleted(pods, now, 3))
	if m := s.get(t, "/api/object?key=pods/u1"); m["row"].(map[string]any)["ended"] == nil || m["object"] == nil {
		t.Errorf("after the end: %v", m)
	}
}

// TestPast tests that the feed is paged from the newest message to the oldest.
func TestPast(t *testing.T) {
	t.Parallel()
	h := newHub()
	s := serve(t, h)
	o := pod("a", "u1", "1", "Running")
	initial := added(pods, o, 0)
	initial.Initial = true
	deliver(t, h, initial, event.Event{Type: event.Disconnected, Target: pods, Time: at(1), Err: fmt.Errorf("x")})
	churned(t, h, o, 5)
	var all []string
	before := ""
	for range 10 {
		m := s.get(t, "/api/feed?limit=4"+before)
		var page []string
		for _, i := range m["items"].([]any) {
			page = append(page, message(i.(map[string]any)).text("type"))
		}
		all = append(all, strings.Join(page, " "))
		if m["before"] == nil {
			break
		}
		before = fmt.Sprintf("&before=%d", m.number("before"))
	}
	if strings.Join(all, "|") != "change change change change|change watch" {
		t.Errorf("%q", all)
	}
}

// TestBadRequests tests that errors in requests are reported in one line.
func TestBadRequests(t *testing.T) {
	t.Parallel()
	h := newHub()
	s := serve(t, h)
	deliver(t, h, added(pods, pod("a", "u1", "1", "Running"), 0))
	for path, code := range map[string]int{
		"/api/objects?nope=1":                400,
		"/api/objects?limit=0":               400,
		"/api/objects?limit=501":             400,
		"/api/objects?limit=x":               400,
		"/api/objects?resource=a&resource=b": 400,
		"/api/objects?labelSelector=%3D%3D":  400,
		"/api/objects?continue=x":            400,
		"/api/objects?continue=" + base64.RawURLEncoding.EncodeToString([]byte("{}")): 400,
		"/api/objects?object=maybe":                                  400,
		"/api/objects?%zz":                                           400,
		"/api/objects?key=" + strings.Repeat("x&key=", 500):          400,
		"/api/object":                                                400,
		"/api/object?key=a&key=b":                                    400,
		"/api/object?key=pods/nope":                                  404,
		"/api/leadup?key=a&nope=1":                                   400,
		"/api/feed?before=x":                                         400,
		"/api/held?before=1":                                         400,
		"/api/objects?where=":                                        400,
		"/api/objects?where=object.":                                 400,
		"/api/objects?where=old+!%3D+null":                           400,
		"/api/objects?where=" + strings.Repeat("x", maxExpression+1): 400,
		"/api/events?where=object.":                                  400,
		"/api/events?types=nope":                                     400,
		"/api/events?marks=maybe":                                    400,
		"/api/events?limit=1":                                        400,
		"/api/where":                                                 404,
		"/api/nope":                                                  404,
	} {
		response, body := send(t, s.request(t, "GET", path))
		if response.StatusCode != code {
			t.Errorf("%.80s: %s: %s", path, response.Status, body)
		}
		if code == 400 {
			if m := decode(t, body); m["error"] == nil || strings.Contains(m.text("error"), "\n") {
				t.Errorf("%.80s: %s", path, body)
			}
		}
	}
}

// TestUnknownParameter tests that the error names an unknown parameter, also where a key is required.
func TestUnknownParameter(t *testing.T) {
	t.Parallel()
	s := serve(t, newHub())
	for _, path := range []string{"/api/objects", "/api/object", "/api/yaml", "/api/leadup", "/api/about", "/api/before"} {
		if _, body := send(t, s.request(t, "GET", path+"?key=a&nope=1")); !strings.Contains(decode(t, body).text("error"), `"nope"`) {
			t.Errorf("%s: %s", path, body)
		}
	}
}

// TestWhereAPI tests that /api/objects lists the objects that match an expression.
func TestWhereAPI(t *testing.T) {
	t.Parallel()
	h := newHub()
	s := serve(t, h)
	deliver(t, h, added(pods, pod("a", "u1", "1", "Running"), 0), added(pods, pod("b", "u2", "2", "Pending"), 0), added(secrets, object("Secret", "s", "u3", "3", "}"), 0))
	for expr, want := range map[string]string{
		"object.status.phase == 'Running'": "a", "true": "a b s", "true&key=pods/u2&key=pods/nope": "b", "true&resource=secrets": "s",
		"object.metadata.name < 3": "", // for none it can be evaluated
	} {
		condition, more, _ := strings.Cut(expr, "&")
		if m := s.get(t, "/api/objects?where="+url.QueryEscape(condition)+"&"+more); names(m) != want {
			t.Errorf("%s: %v", expr, m)
		}
	}
}

// password is the value of a Secret, which must not be shown.
const password = "c2VjcmV0IHZhbHVlIQ==" // "secret value!"

// TestSecrets tests that no request reveals the value of a Secret, or confirms a guess of it.
func TestSecrets(t *testing.T) {
	t.Parallel()
	h := newHub()
	s := serve(t, h)
	d := s.dial(t, "")
	d.next("hello")
	d.rows()
	of := func(version, value string) event.Object {
		return object("Secret", "s", "u1", version, `,"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\"data\":{\"password\":\"`+value+`\"}}"}},"data":{"password":"`+value+`"}`)
	}
	before, now := of("1", password), of("2", password+"x")
	deliver(t, h, added(secrets, before, 0), modified(secrets, before, now, 1), modified(secrets, now, before, 2))
	d.next("resource")
	seen := ""
	for range 3 {
		seen += fmt.Sprint(d.next("change"))
	}
	if !strings.Contains(seen, "masked:true") {
		t.Errorf("the change is not seen: %s", seen)
	}
	for _, path := range []string{"/api/objects?object=true", "/api/object?key=secrets/u1", "/api/feed"} {
		_, body := send(t, s.request(t, "GET", path))
		seen += string(body)
	}
	for _, part := range []string{password[:12], "secret value"} {
		if strings.Contains(seen, part) {
			t.Errorf("%s is seen", part)
		}
	}
	for _, guess := range []string{"object.data.password == '" + password + "'", "object.data.password.startsWith('c2')"} {
		if m := s.get(t, "/api/objects?where="+url.QueryEscape(guess)); names(m) != "" {
			t.Errorf("%s: %v", guess, m)
		}
	}
}

// TestMaskedPaths tests that --mask hides values in the server's columns, too.
func TestMaskedPaths(t *testing.T) {
	t.Parallel()
	pattern, err := change.ParsePattern("status.phase")
	if err != nil {
		t.Fatal(err)
	}
	h := New(Options{Compare: change.Options{Masks: &change.Masks{Paths: change.Patterns{pattern}}}})
	s := serve(t, h)
	before, now := pod("a", "u1", "1", "Hidden1"), pod("a", "u1", "2", "Hidden2")
	row := `{"columnDefinitions":[{"name":"Phase","type":"string"}],"cells":["Hidden1"]}`
	deliver(t, h, added(pods, before.WithRow(row), 0), modified(pods, before, now.WithRow(row), 1))
	for _, path := range []string{"/api/objects?object=true", "/api/object?key=pods/u1", "/api/feed"} {
		if response, body := send(t, s.request(t, "GET", path)); response.StatusCode != http.StatusOK || strings.Contains(string(body), "Hidden") {
			t.Errorf("%s: %s: %s", path, response.Status, body)
		}
	}
}

// TestRenderer tests that a change message has what -o changes shows: a line diff of long texts, and the status and
// reason of a new condition.
func TestRenderer(t *testing.T) {
	t.Parallel()
	s := serve(t, newHub())
	rest := func(text, status string) string {
		return fmt.Sprintf(`},"data":{"conf":%q},"status":{%s}`, text, status)
	}
	before := object("Gadget", "a", "u1", "1", rest("a\nb\nc\nd\n", ""))
	now := object("Gadget", "a", "u1", "2", rest("a\nb\nX\nd\n", `"conditions":[{"type":"Ready","status":"False","reason":"NoRoute","message":"no way"}]`))
	deliver(t, s.hub, added(pods, before, 0), modified(pods, before, now, 1))
	items := s.get(t, "/api/feed")["items"].([]any)
	got := fmt.Sprint(items[0].(map[string]any)["changes"])
	if want := "[map[diff:[@@ -2,3 +2,3 @@  b -c +X  d] path:data.conf] map[kind:added new:False, NoRoute: no way path:status.conditions[type=Ready]]]"; got != want {
		t.Errorf("%s, want\n%s", got, want)
	}
}

// TestMaskedEvents tests that the text of a Kubernetes Event is masked before it is sent.
func TestMaskedEvents(t *testing.T) {
	t.Parallel()
	pattern, err := change.ParsePattern("message")
	if err != nil {
		t.Fatal(err)
	}
	h := New(Options{Compare: change.Options{Masks: &change.Masks{Paths: change.Patterns{pattern}, Key: []byte("k")}}})
	of := func(version, message string) event.Object {
		return object("Event", "e", "u1", version, `},"reason":"Pulled","message":"`+message+`","involvedObject":{"kind":"Pod","name":"a"}`)
	}
	before, now := of("1", "Hidden1"), of("2", "Hidden2")
	deliver(t, h, added(pods, before, 0), modified(pods, before, now, 1))
	told := fmt.Sprint(taken(t, h, 0))
	if strings.Contains(told, "Hidden") {
		t.Errorf("the masked text was sent: %s", told)
	}
	if !strings.Contains(told, "pod/a Pulled: <7 bytes") {
		t.Errorf("the masked message is missing: %s", told)
	}
}
