package page

import (
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// terminal is a program in a tmux terminal, which ends with the test.
type terminal struct {
	t             *testing.T
	socket        string
	width, height int
}

// inTerminal starts dwatch in a terminal of the given size.
func inTerminal(t *testing.T, c *cluster, width, height int, args ...string) *terminal {
	t.Helper()
	binary, err := dwatchBinary()
	if err != nil {
		t.Fatal(err)
	}
	m := &terminal{t, filepath.Join(temporary, fmt.Sprint("tmux-", rooms.Add(1))), width, height}
	m.tmux(append([]string{"-f", "/dev/null", "new-session", "-d", "-x", strconv.Itoa(width), "-y", strconv.Itoa(height),
		"env", "LC_ALL=C.UTF-8", "HOME=" + temporary, "KUBECONFIG=" + c.kubeconfig, binary}, args...)...)
	t.Cleanup(func() { m.command("kill-server").Run() }) // the server may have ended
	return m
}

func (m *terminal) command(args ...string) *exec.Cmd {
	cmd := exec.Command("tmux", append([]string{"-S", m.socket}, args...)...)
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
	return cmd
}

func (m *terminal) tmux(args ...string) string {
	m.t.Helper()
	out, err := m.command(args...).CombinedOutput()
	if err != nil {
		m.t.Fatalf("tmux %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// screen returns the contents of the screen, with or without colours.
func (m *terminal) screen(colours bool) string {
	m.t.Helper()
	if colours {
		return m.tmux("capture-pane", "-e", "-p")
	}
	return m.tmux("capture-pane", "-p")
}

// shows waits until the screen matches all patterns at once, and returns it with colours.
func (m *terminal) shows(patterns ...string) string {
	m.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(60 * time.Millisecond) { // each poll starts a program
		shown, missing := m.screen(true), ""
		plain := sgr.ReplaceAllString(shown, "")
		for _, pattern := range patterns {
			if !regexp.MustCompile("(?m)" + pattern).MatchString(plain) {
				missing = pattern
			}
		}
		if missing == "" {
			return shown
		}
		if time.Now().After(deadline) {
			m.t.Fatalf("with %d columns the screen does not match %s:\n%s", m.width, missing, plain)
		}
	}
}

// sgr matches an escape sequence that sets the style of the following text.
var sgr = regexp.MustCompile("\x1b\\[([0-9;]*)m")

// palette has the eight colours of a terminal. ground and ink are its background and text colours.
var palette = []string{"#45475a", "#f38ba8", "#a6e3a1", "#f9e2af", "#89b4fa", "#f5c2e7", "#94e2d5", "#bac2de"}

const ground, ink = "#1e1e2e", "#cdd6f4"

// pen is the style of text.
type pen struct {
	bold, faint, inverse bool
	color                string
}

// take applies the codes of a sequence.
func (p *pen) take(codes string) {
	for code := range strings.SplitSeq(codes, ";") {
		switch n, _ := strconv.Atoi(code); { // an empty code means 0
		case n == 0:
			*p = pen{}
		case n == 1:
			p.bold = true
		case n == 2:
			p.faint = true
		case n == 7:
			p.inverse = true
		case n == 22:
			p.bold, p.faint = false, false
		case n == 27:
			p.inverse = false
		case n >= 30 && n < 38:
			p.color = palette[n-30]
		case n >= 90 && n < 98:
			p.color = palette[n-90]
		case n == 39:
			p.color = ""
		}
	}
}

func (p pen) style() string {
	color := p.color
	if color == "" {
		color = ink
	}
	style := "color:" + color
	if p.inverse {
		style = "color:" + ground + ";background:" + color
	}
	if p.bold {
		style += ";font-weight:bold"
	}
	if p.faint {
		style += ";opacity:.55"
	}
	return style
}

// drawn renders a screen as an HTML page.
func drawn(screen string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<!doctype html><meta charset="utf-8"><body style="margin:0;background:%s"><pre style="margin:0;padding:12px;font:14px/18px DejaVu Sans Mono,monospace">`, ground)
	var look pen
	rest := strings.TrimRight(screen, "\n")
	for rest != "" {
		at := sgr.FindStringSubmatchIndex(rest)
		text := rest
		if at != nil {
			text = rest[:at[0]]
		}
		if text != "" {
			fmt.Fprintf(&b, `<span style=%q>%s</span>`, look.style(), html.EscapeString(text))
		}
		if at == nil {
			break
		}
		look.take(rest[at[2]:at[3]])
		rest = rest[at[1]:]
	}
	return b.String()
}

// print takes a screenshot. With UPDATE_IMAGES=1 it goes to docs/images if isOfDocs is true.
func (m *terminal) print(b *tab, name, screen string, isOfDocs bool) {
	m.t.Helper()
	dir := os.Getenv("DWATCH_PICTURES")
	if os.Getenv("UPDATE_IMAGES") != "" && isOfDocs {
		dir = filepath.Join(root, "docs", "images")
	}
	if dir == "" {
		return
	}
	file := filepath.Join(temporary, name+".html")
	if err := os.WriteFile(file, []byte(drawn(screen)), 0o644); err != nil {
		m.t.Fatal(err)
	}
	const letter, line, around = 8.43, 18, 24 // pixels
	b.look(look{width: int64(float64(m.width)*letter) + around, height: int64(m.height*line) + around})
	b.navigate("file://" + file)
	png, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644); err != nil {
		m.t.Fatal(err)
	}
}

// TestLiveLooks checks the live table at several widths during a rollout, while another Deployment is broken: problems
// come first, with reason and cause, and the table shows the reason, too.
func TestLiveLooks(t *testing.T) {
	needBrowser(t)
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux, which simulates the terminal, is missing: apt-get install tmux")
	}
	t.Parallel()
	c, err := startCluster("live", "--controllers")
	if err != nil {
		t.Fatal(err)
	}
	defer c.stop()
	c.kubectl(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n"+deployment("shop", "web", "nginx:1.28", 4, 2)+deployment("shop", "api", "api:3", 2, 0)+deployment("shop", "worker", "worker:9", 1, 0), "apply", "-f", "-")
	for _, name := range []string{"web", "api", "worker"} {
		c.await(t, "shop/"+name)
	}
	var all []*terminal
	for width, height := range map[int]int{80: 24, 120: 40, 160: 45, 240: 60} {
		all = append(all, inTerminal(t, c, width, height, "live", "deploy,rs,po", "-n", "shop"))
	}
	for _, m := range all {
		m.shows(`no problems`, `connected`)
	}
	c.kubectl(t, "", "-n", "shop", "set", "image", "deploy/worker", "worker=worker:10")
	c.crash(t, "worker", "worker:10")
	for _, m := range all {
		m.shows(`^ ✗ deploy/worker +CrashLoopBackOff`)
	}
	c.kubectl(t, "", "-n", "shop", "set", "image", "deploy/web", "web=nginx:1.29")
	b := open(t, "about:blank", look{})
	for _, m := range all {
		screen := m.shows(`^ ✗ deploy/worker +CrashLoopBackOff`, `since \d\d:\d\d`, `^ +DEPLOYMENTS.* STATE`, `web .* \d/4 `, `worker.* CrashLoopBackOff`)
		m.print(b, fmt.Sprintf("live-%d", m.width), screen, m.width == 80 || m.width == 160)
	}
}

// crash makes a pod of a Deployment in the namespace shop crash, once there is one with the given image.
func (c *cluster) crash(t *testing.T, name, image string) {
	t.Helper()
	pod := ""
	for deadline := time.Now().Add(patience); pod == ""; {
		pod = strings.TrimSpace(c.kubectl(t, "", "-n", "shop", "get", "pods", "-l", "app="+name, "-o", `jsonpath={range .items[?(@.spec.containers[0].image=="`+image+`")]}{.metadata.name} {end}`))
		if time.Now().After(deadline) {
			t.Fatalf("there is no pod of %s with %s", name, image)
		}
	}
	c.kubectl(t, "", "-n", "shop", "patch", "pod", pod, "--subresource=status", "-p", strings.NewReplacer("nginx:1.28", image, "nginx", name).Replace(crashing))
}

// conf is a ConfigMap with a file of several lines.
const conf = `---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: shop}
data: {conf: "currency: EUR\nlevel: info\nretries: 3\n"}
`

// TestChangesLooks checks the changes view at a terminal: a rollout in two lines, a file by line, and a failure with its
// cause.
func TestChangesLooks(t *testing.T) {
	needBrowser(t)
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux, which simulates the terminal, is missing: apt-get install tmux")
	}
	t.Parallel()
	c, err := startCluster("changes", "--controllers")
	if err != nil {
		t.Fatal(err)
	}
	defer c.stop()
	c.kubectl(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n"+deployment("shop", "cart", "cart:1.4", 4, 0)+conf, "apply", "-f", "-")
	c.await(t, "shop/cart")
	var all []*terminal
	for width, height := range map[int]int{80: 30, 160: 28} {
		all = append(all, inTerminal(t, c, width, height, "deploy,rs,po,cm", "-n", "shop"))
	}
	everywhere := func(patterns ...string) {
		for _, m := range all {
			m.shows(patterns...)
		}
	}
	everywhere(`= no problems`)
	c.kubectl(t, "", "-n", "shop", "set", "image", "deploy/cart", "cart=cart:1.5")
	everywhere(`rollout done`)
	c.kubectl(t, "", "-n", "shop", "patch", "cm", "settings", "--field-manager", "argocd-controller", "-p", `{"data":{"conf":"currency: EUR\nlevel: debug\nretries: 3\n"}}`)
	everywhere(`\+level: debug`)
	c.kubectl(t, "", "-n", "shop", "patch", "deploy", "cart", "--field-manager", "kubectl-edit", "-p", `{"spec":{"template":{"spec":{"nodeName":"nowhere","containers":[{"name":"cart","image":"cart:1.6"}]}}}}`)
	c.crash(t, "cart", "cart:1.6")
	everywhere(`✗ po/cart-\S+\s+Failed: CrashLoopBackOff \(exit 1, 4 restarts\)`,
		`> deploy/cart\s+rollout failed after \d+ s: po/cart-\S+\s+CrashLoopBackOff\s+\(exit 1, 4 restarts\);\s+\d+ changes;`)
	b := open(t, "about:blank", look{})
	for _, m := range all {
		exec.Command("kill", "-USR1", strings.TrimSpace(m.tmux("display-message", "-p", "#{pane_pid}"))).Run()
		m.print(b, fmt.Sprintf("changes-%d", m.width), m.shows(`^✗ deploy/cart +CrashLoopBackOff`), true)
	}
}
