package page

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/coder/websocket"
)

// findFirefox returns the path of Firefox, or "".
func findFirefox() string {
	for _, name := range []string{os.Getenv("FIREFOX"), "firefox-esr", "firefox"} {
		if path, err := exec.LookPath(name); name != "" && err == nil {
			return path
		}
	}
	return ""
}

// firefox is a tab in Firefox. It is driven by WebDriver BiDi, because Firefox does not support Chromium's protocol.
type firefox struct {
	t      *testing.T
	socket *websocket.Conn
	tab    string
	last   int
}

var bidiLine = regexp.MustCompile(`WebDriver BiDi listening on (ws://\S+)`)

// openFirefox opens a tab in a Firefox that ends with the test.
func openFirefox(t *testing.T, path string) *firefox {
	t.Helper()
	f := &firefox{t: t}
	var err error
	if f.socket, _, err = websocket.Dial(t.Context(), startFirefox(t, path)+"/session", nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.socket.CloseNow() })
	f.socket.SetReadLimit(-1)
	f.call("session.new", map[string]any{"capabilities": map[string]any{}}, nil)
	f.call("session.subscribe", map[string]any{"events": []string{"log.entryAdded"}}, nil)
	var tree struct {
		Contexts []struct{ Context string }
	}
	f.call("browsingContext.getTree", map[string]any{}, &tree)
	f.tab = tree.Contexts[0].Context
	return f
}

// startFirefox starts Firefox and returns its WebSocket address.
func startFirefox(t *testing.T, path string) string {
	t.Helper()
	home, err := os.MkdirTemp(temporary, "firefox-")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "--headless", "--no-remote", "--profile", home, "--remote-debugging-port", "0", "about:blank")
	cmd.Env = append(os.Environ(), "HOME="+home, "MOZ_HEADLESS=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // its child processes end with it
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		cmd.Wait() // it was killed
	})
	lines := bufio.NewScanner(stderr)
	var said []string
	for lines.Scan() {
		said = append(said, lines.Text())
		if found := bidiLine.FindStringSubmatch(lines.Text()); found != nil {
			go io.Copy(io.Discard, stderr)
			return found[1]
		}
	}
	t.Fatalf("Firefox ended at its start:\n%s", strings.Join(said, "\n"))
	return ""
}

// answered is a message from Firefox: a response or an event.
type answered struct {
	ID             int
	Type, Method   string
	Error, Message string
	Result         json.RawMessage
	Params         struct{ Level, Text string }
}

// call sends a command, and decodes the response into result. If the page logs an error, the test fails.
func (f *firefox) call(method string, params any, result any) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	f.last++
	question := encode(map[string]any{"id": f.last, "method": method, "params": params})
	if err := f.socket.Write(ctx, websocket.MessageText, []byte(question)); err != nil {
		f.t.Fatal(err)
	}
	for {
		_, text, err := f.socket.Read(ctx)
		if err != nil {
			f.t.Fatalf("%s: %v", method, err)
		}
		var m answered
		if err := json.Unmarshal(text, &m); err != nil {
			f.t.Fatal(err)
		}
		switch {
		case m.Method == "log.entryAdded" && m.Params.Level == "error":
			f.t.Errorf("in the page: %s", m.Params.Text)
		case m.ID != f.last:
		case m.Type == "error":
			f.t.Fatalf("%s: %s: %s", question, m.Error, m.Message)
		default:
			if result != nil {
				if err := json.Unmarshal(m.Result, result); err != nil {
					f.t.Fatal(err)
				}
			}
			return
		}
	}
}

func (f *firefox) navigate(address string) {
	f.t.Helper()
	f.call("browsingContext.navigate", map[string]any{"context": f.tab, "url": address, "wait": "complete"}, nil)
}

func (f *firefox) look(width, height int) {
	f.t.Helper()
	f.call("browsingContext.setViewport", map[string]any{"context": f.tab, "viewport": map[string]int{"width": width, "height": height}}, nil)
}

// text evaluates an expression, which may be a promise, and returns its value as a string.
func (f *firefox) text(expression string) string {
	f.t.Helper()
	var answer struct {
		Type             string
		Result           struct{ Value any }
		ExceptionDetails struct{ Text string }
	}
	f.call("script.evaluate", map[string]any{"expression": expression, "target": map[string]string{"context": f.tab}, "awaitPromise": true}, &answer)
	if answer.Type == "exception" {
		f.t.Fatalf("%s: %s", expression, answer.ExceptionDetails.Text)
	}
	return fmt.Sprint(answer.Result.Value)
}

// await waits until an expression is true.
func (f *firefox) await(expression string) {
	f.t.Helper()
	said := f.text(fmt.Sprintf(`new Promise((done) => {
  const begun = performance.now(), timer = setInterval(() => {
    const holds = Boolean(%s);
    if (!holds && performance.now() - begun < %d) return;
    clearInterval(timer);
    done(holds ? "" : document.body.innerText);
  }, 50);
})`, expression, patience.Milliseconds()))
	if said != "" {
		f.t.Fatalf("waited %v for %s: the page says:\n%s", patience, expression, said)
	}
}

// press types keys.
func (f *firefox) press(keys string) {
	f.t.Helper()
	var actions []any
	for _, r := range keys {
		for _, kind := range []string{"keyDown", "keyUp"} {
			actions = append(actions, map[string]string{"type": kind, "value": string(r)})
		}
	}
	f.act(map[string]any{"type": "key", "id": "keys", "actions": actions})
}

// drag moves the mouse with the left button pressed.
func (f *firefox) drag(x, y, toX int) {
	f.t.Helper()
	move := func(x int) any { return map[string]any{"type": "pointerMove", "x": x, "y": y} }
	button := func(kind string) any { return map[string]any{"type": kind, "button": 0} }
	f.act(map[string]any{"type": "pointer", "id": "mouse", "actions": []any{move(x), button("pointerDown"), move((x + toX) / 2), move(toX), button("pointerUp")}})
}

func (f *firefox) act(source any) {
	f.t.Helper()
	f.call("input.performActions", map[string]any{"context": f.tab, "actions": []any{source}}, nil)
}

// TestFirefox checks that the main features of the page work in Firefox: the objects, problems and their causes, the
// feed, an object, the timeline with a drag, the search, a phone's width, and an outage.
func TestFirefox(t *testing.T) {
	path := findFirefox()
	if path == "" {
		t.Skip("no Firefox is installed: apt-get install firefox-esr, or FIREFOX=PATH")
	}
	t.Parallel()
	c, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	ns, f := c.room(t), openFirefox(t, path)
	c.kubectl(t, webDeployment, "apply", "-n", ns, "-f", "-")
	d := serve(t, c, "deploy,rs,po,cm,events", "-n", ns)
	f.navigate(d.url)
	f.await(live + ` && ` + row("web") + `?.querySelector(".state").textContent === "Current"`)
	f.await(`document.getElementById("problems").textContent.includes("No problems.")`)
	c.kubectl(t, "", "-n", ns, "create", "configmap", "settings", "--from-literal=conf=a\nb\nc\n")
	c.kubectl(t, "", "-n", ns, "patch", "cm", "settings", "--field-manager", "argocd-controller", "-p", `{"data":{"conf":"a\nB\nc\n"}}`)
	f.breaks(c, ns)
	f.feed()
	f.timeline()
	f.look(360, 740)
	f.press("3")
	c.kubectl(t, "", "-n", ns, "patch", "cm", "settings", "--field-manager", "argocd-controller", "-p", `{"data":{"level":"`+strings.Repeat("long ", 20)+`"}}`)
	f.await(`document.getElementById("lines").clientHeight > 100 && ` + entry("· argocd-controller"))
	if wide := f.text(`[...document.querySelectorAll("body, main, #feed, .top, .bar")].filter((e) => e.scrollWidth > e.clientWidth + 1 && e.clientWidth).map((e) => e.id || e.className || e.tagName).join()`); wide != "" {
		t.Errorf("too wide for a phone: %s", wide)
	}
	d.kill()
	f.await(`document.body.dataset.watch === "down"`)
}

// breaks checks that problems are shown first, with their causes, and lead to the object.
func (f *firefox) breaks(c *cluster, ns string) {
	f.t.Helper()
	c.kubectl(f.t, "", "-n", ns, "set", "image", "deploy/web", "nginx=nginx:1.28")
	c.kubectl(f.t, "", "-n", ns, "rollout", "status", "deploy/web")
	for _, name := range strings.Fields(c.kubectl(f.t, "", "-n", ns, "get", "pods", "-o", "name")) {
		if c.kubectl(f.t, "", "-n", ns, "get", name, "--ignore-not-found", "-o", "jsonpath={.spec.containers[0].image}{.metadata.deletionTimestamp}") == "nginx:1.28" {
			c.kubectl(f.t, "", "-n", ns, "patch", name, "--subresource=status", "-p", crashing)
		}
	}
	f.await(`/deployment\/web\s*CrashLoopBackOff.*×2/.test(document.getElementById("problems").textContent) && document.getElementById("problems").textContent.includes("after kubectl-set: image nginx:1.27 → nginx:1.28")`)
	f.text(`String(document.querySelector("#problems .what").click())`)
	f.await(`document.querySelector("#detail .containers")?.textContent.includes("CrashLoopBackOff") && document.querySelector("#detail .yaml")`)
	f.press("\ue00c") // escape
	f.await(`document.getElementById("detail").hidden`)
}

// feed checks that a long text is shown by line, that consequences are folded and can be opened, and that who: finds a
// manager.
func (f *firefox) feed() {
	f.t.Helper()
	followed := `[...document.querySelectorAll("#lines .entry.followed:not([hidden])")].find((e) => e.textContent.includes(" followed of "))`
	f.await(entry("+B") + ` && ` + followed)
	f.text(`String(` + followed + `.click())`)
	f.await(`document.querySelector("#lines .entry.inner:not([hidden])")`)
	f.press("/who:argo")
	f.await(row("settings") + ` && !` + row("web") + ` && ` + entry("+B"))
	f.press("\ue00c\ue00c")
	f.await(row("web"))
}

// timeline checks that the timeline is rendered, and that a drag opens no object.
func (f *firefox) timeline() {
	f.t.Helper()
	f.press("2")
	f.await(lanesHave("current") + ` && ` + lanesHave("failed"))
	var place []int
	if err := json.Unmarshal([]byte(f.text(`JSON.stringify(((r) => [Math.round(r.right - 60), Math.round(r.top + r.height / 2)])(`+row("web")+`.getBoundingClientRect()))`)), &place); err != nil {
		f.t.Fatal(err)
	}
	f.drag(place[0], place[1], place[0]-200)
	f.await(`true`)
	if object := f.text(`new URLSearchParams(location.search).get("object") ?? ""`); object != "" {
		f.t.Errorf("a drag opened %s", object)
	}
	f.press("1")
}
