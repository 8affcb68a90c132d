//go:build unix

package program

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"dwatch/testdata/readme"
	"dwatch/testdata/testenv"
)

// tmux is a terminal with a shell, in which tests start dwatch as users do.
type tmux struct {
	t      *testing.T
	socket string
	before string // initial settings of the terminal
}

// startTmux starts a terminal of the given size. It has its own tmux server, which ends with the test.
func startTmux(t *testing.T, width, height int, kubeconfig string, env ...string) *tmux {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux, which simulates the terminal, is missing: apt-get install tmux")
	}
	m := &tmux{t: t, socket: filepath.Join(shortDir(t), "s")}
	env = append([]string{
		"PATH=" + binaries + string(os.PathListSeparator) + os.Getenv("PATH"), "KUBECONFIG=" + kubeconfig, "HOME=" + t.TempDir(),
		"GORACE=" + os.Getenv("GORACE"), "PS1=$ ", "ENV=", "LC_ALL=C.UTF-8",
	}, env...)
	args := append([]string{"-f", "/dev/null", "new-session", "-d", "-x", strconv.Itoa(width), "-y", strconv.Itoa(height), "env"}, env...)
	m.run(append(args, "sh")...)
	t.Cleanup(func() { m.try("kill-server") })
	m.run("set-option", "-s", "set-clipboard", "on")
	m.shows(`^[$#]`) // by now tmux has set the terminal up
	m.before = m.settings()
	return m
}

// shortDir creates a directory whose path is short enough for a socket.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "live")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func (m *tmux) try(args ...string) (string, error) {
	cmd := exec.Command("tmux", append([]string{"-S", m.socket}, args...)...)
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
	out, err := cmd.CombinedOutput()
	return strings.TrimRight(string(out), "\n"), err
}

func (m *tmux) run(args ...string) string {
	m.t.Helper()
	out, err := m.try(args...)
	if err != nil {
		m.t.Fatalf("tmux %q: %v\n%s", args, err, out)
	}
	return out
}

// press sends keys by their tmux names.
func (m *tmux) press(keys ...string) {
	m.t.Helper()
	m.run(append([]string{"send-keys"}, keys...)...)
}

// types sends a text.
func (m *tmux) types(text string) {
	m.t.Helper()
	m.run("send-keys", "-l", text)
}

// command types a command for the shell.
func (m *tmux) command(text string) {
	m.t.Helper()
	m.types(text)
	m.press("Enter")
}

func (m *tmux) screen() string { return m.run("capture-pane", "-p") }

// until polls until what returns true.
func (m *tmux) until(what func() bool, complain func() string) {
	m.t.Helper()
	deadline := time.Now().Add(patience)
	for !what() {
		if time.Now().After(deadline) {
			m.t.Fatal(complain())
		}
		time.Sleep(60 * time.Millisecond) // each poll starts a program
	}
}

// shows waits until the screen matches.
func (m *tmux) shows(pattern string) {
	m.t.Helper()
	wanted := regexp.MustCompile("(?m)" + pattern)
	m.until(func() bool { return wanted.MatchString(m.screen()) },
		func() string { return fmt.Sprintf("the screen does not match %s:\n%s", pattern, m.screen()) })
}

// lacks waits until the screen does not match.
func (m *tmux) lacks(pattern string) {
	m.t.Helper()
	unwanted := regexp.MustCompile("(?m)" + pattern)
	m.until(func() bool { return !unwanted.MatchString(m.screen()) },
		func() string { return fmt.Sprintf("the screen still matches %s:\n%s", pattern, m.screen()) })
}

// settings returns the settings of the terminal.
func (m *tmux) settings() string {
	m.t.Helper()
	device := m.run("display-message", "-p", "#{pane_tty}")
	file, err := os.OpenFile(device, os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		m.t.Fatal(err)
	}
	defer file.Close()
	cmd := exec.Command("stty", "-g")
	cmd.Stdin = file
	out, err := cmd.Output()
	if err != nil {
		m.t.Fatal(err)
	}
	return string(out)
}

// isAsBefore waits until the terminal has its initial settings, and all modes that the live table sets are reset.
func (m *tmux) isAsBefore() {
	m.t.Helper()
	const flags = "#{alternate_on} #{mouse_any_flag} #{mouse_button_flag} #{mouse_sgr_flag} #{cursor_flag}"
	state := func() string { return m.run("display-message", "-p", flags) }
	m.until(func() bool { return m.settings() == m.before && state() == "0 0 0 0 1" },
		func() string {
			return fmt.Sprintf("the terminal was not restored: %s, want 0 0 0 0 1\n%s%s\n%s", state(), m.settings(), m.before, m.screen())
		})
}

// live starts dwatch live. At its end the shell prints the exit code.
func (m *tmux) live(args string) {
	m.t.Helper()
	m.command("clear; dwatch live " + args + "; echo END=$?")
}

// pid returns the process ID of dwatch.
func (m *tmux) pid() int {
	m.t.Helper()
	shell := m.run("display-message", "-p", "#{pane_pid}")
	out, err := exec.Command("pgrep", "-x", "-P", shell, "dwatch").Output()
	if err != nil {
		m.t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		m.t.Fatal(err)
	}
	return pid
}

// ends waits until a process has ended.
func (m *tmux) ends(pid int) {
	m.t.Helper()
	m.until(func() bool { return syscall.Kill(pid, 0) != nil }, func() string {
		syscall.Kill(pid, syscall.SIGKILL)
		return "dwatch does not end"
	})
}

const (
	liveConfigMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {k: v}\n"
	// liveDeployment never becomes ready, because there is no controller.
	liveDeployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 2, selector: {matchLabels: {app: web}}, " +
		"template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: 'web:1'}]}}}\n"
)

func (o *objects) applyText(t *testing.T, text string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "objects.yaml")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := o.apply(file, strings.NewReplacer()); err != nil {
		t.Fatal(err)
	}
}

func (o *objects) mustPatch(t *testing.T, what, patch string) {
	t.Helper()
	if err := o.patch(what, patch); err != nil {
		t.Fatal(err)
	}
}

// TestLive tests each key of the live table, and how changes appear in its rows.
func TestLive(t *testing.T) {
	t.Parallel()
	o, kubeconfig := room(t)
	for _, name := range []string{"alpha", "beta"} {
		o.applyText(t, fmt.Sprintf(liveConfigMap, name))
	}
	o.applyText(t, liveDeployment)
	o.applyText(t, "apiVersion: v1\nkind: Secret\nmetadata: {name: key}\nstringData: {p: hunter2}\n")
	m := startTmux(t, 80, 24, kubeconfig)
	m.live("deploy,cm,secrets")
	m.shows(`● connected · `)
	m.shows(`^   DEPLOYMENTS 1 +(STATE +)?READY +UP-TO-DATE +AVAILABLE +AGE`)
	m.shows(`^◌  web .*0/2 +0 +0 +\d+s`)
	m.shows(`^   CONFIGMAPS \d+ +DATA +AGE`)

	// Changed rows are marked for a moment.
	o.mustPatch(t, "configmaps/beta", `{"data":{"more":"v"}}`)
	m.shows(`^ ~ beta +2 `)
	m.lacks(`^ ~ beta`)
	o.applyText(t, fmt.Sprintf(liveConfigMap, "gamma"))
	m.shows(`^ \+ gamma +1 `)
	if err := o.remove("configmaps/gamma"); err != nil {
		t.Fatal(err)
	}
	m.shows(`^ - gamma`)

	// Keys: / s Escape
	m.press("/")
	m.types("bet")
	m.lacks(`alpha`)
	m.shows(`^ /bet$`)
	m.press("Enter")
	m.shows(`1 of \d+ objects`)
	m.press("Enter")
	m.shows(`changes of configmaps/beta`)
	m.shows(`~ cm/beta  data\.more  \+ v`)
	m.press("d")
	m.shows(`YAML of configmaps/beta`)
	m.shows(`^   more: v$`)
	if err := o.warn("configmap/beta", "Odd", "something is odd"); err != nil {
		t.Fatal(err)
	}
	m.press("e")
	m.shows(`Warning Odd`)
	m.shows(`^ +something is odd`)
	m.press("Escape")
	m.shows(`1 of \d+ objects`)
	m.press("y")
	m.shows(`copied beta`)
	m.until(func() bool { out, err := m.try("show-buffer"); return err == nil && out == "beta" },
		func() string { out, _ := m.try("show-buffer"); return "the clipboard has " + out })
	m.press("Escape")
	m.shows(`alpha`)
	m.press("/")
	m.types("where object.metadata.name.startsWith('alp')")
	m.press("Enter")
	m.lacks(`beta`)
	m.shows(`alpha`)
	m.press("Escape")
	m.press("s")
	m.shows(`sorted: name`)

	// The value of a Secret is not shown.
	m.press("/")
	m.types("secrets key")
	m.press("Enter", "d")
	m.shows(`p: <7 bytes, \w+>`)
	m.lacks(`aHVudGVyMg|hunter2`)
	m.press("q")
	m.shows(`1 of \d+ objects`)
	m.press("Escape")
	m.shows(`alpha`)

	// Key: p
	m.press("p")
	m.shows(`PAUSED 0 events since`)
	o.mustPatch(t, "configmaps/alpha", `{"data":{"x":"1","y":"2"}}`)
	m.shows(`PAUSED 1 event since`)
	m.shows(`alpha +1 `)
	m.press("p")
	m.shows(`alpha +3 `)

	m.press("?")
	m.shows(`^ Keys$`)
	m.press("q", "l")
	m.shows(`messages about the watch`)
	m.press("q")

	// It fits any terminal size.
	for _, size := range [][2]string{{"40", "10"}, {"300", "100"}, {"80", "24"}} {
		m.run("resize-window", "-x", size[0], "-y", size[1])
		m.shows(`q quit|d yaml`)
		m.shows(`DEPLOYMENTS`)
	}
	m.press("q")
	m.shows(`^END=0$`)
	m.isAsBefore()
}

// liveRecorded is the recording of TestLiveFrom.
const liveRecorded = `{"type":"ADDED","time":"2026-01-31T02:00:01.000Z","initial":true,"object":{"apiVersion":"v1","data":{"k":"v"},"kind":"ConfigMap","metadata":{"creationTimestamp":"2026-01-31T01:59:00Z","managedFields":[{"apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{}},"manager":"kubectl","operation":"Update","time":"2026-01-31T01:59:00Z"}],"name":"alpha","namespace":"default","resourceVersion":"10","uid":"u-default-alpha"}}}
{"type":"SYNCED","time":"2026-01-31T02:00:01.000Z","resource":"configmaps.v1.","namespace":"default","count":1}
{"type":"BOOKMARK","time":"2026-01-31T02:00:01.001Z","resource":"configmaps.v1.","namespace":"default","heard":"2026-01-31T02:00:01.001Z"}
{"type":"BOOKMARK","time":"2026-01-31T02:00:02.000Z","resource":"configmaps.v1.","namespace":"default","heard":"2026-01-31T02:00:02.000Z"}
{"type":"MODIFIED","time":"2026-01-31T02:00:03.000Z","object":{"apiVersion":"v1","data":{"k":"v","more":"v"},"kind":"ConfigMap","metadata":{"creationTimestamp":"2026-01-31T01:59:00Z","managedFields":[{"apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{}},"manager":"kubectl","operation":"Update","time":"2026-01-31T01:59:00Z"}],"name":"alpha","namespace":"default","resourceVersion":"11","uid":"u-default-alpha"}}}
{"type":"DELETED","time":"2026-01-31T02:00:05.000Z","object":{"apiVersion":"v1","data":{"k":"v","more":"v"},"kind":"ConfigMap","metadata":{"creationTimestamp":"2026-01-31T01:59:00Z","managedFields":[{"apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{}},"manager":"kubectl","operation":"Update","time":"2026-01-31T01:59:00Z"}],"name":"alpha","namespace":"default","resourceVersion":"12","uid":"u-default-alpha"}}}
{"type":"BOOKMARK","time":"2026-01-31T02:00:06.000Z","resource":"configmaps.v1.","namespace":"default","heard":"2026-01-31T02:00:06.000Z"}
`

// TestLiveFrom checks that live --from shows a recording without a server.
func TestLiveFrom(t *testing.T) {
	t.Parallel()
	rec := filepath.Join(t.TempDir(), "rec")
	if _, _, err := writeRecording(rec, liveRecorded, time.Now().Add(-time.Minute)); err != nil {
		t.Fatal(err)
	}
	m := startTmux(t, 120, 24, "nowhere")
	m.live("cm --from " + rec)
	m.shows(`^ recording .* known$`)
	m.press("[", "[")
	m.shows(`beginning of the loaded period`)
	m.shows(`^   alpha +\S+ `)
	m.press("Right")
	m.shows(`^ ~ alpha `)
	m.shows(`~ cm/alpha  data\.more  \+ v`)
	m.press("Right")
	m.shows(`^ - alpha `)
	m.press("Left", "d")
	m.shows(`^   more: v$`)
	m.press("q", "q")
	m.shows(`^END=0$`)
	m.isAsBefore()
}

// TestLiveScrolls checks that arrow keys and the mouse wheel scroll the rows below the fixed header.
func TestLiveScrolls(t *testing.T) {
	t.Parallel()
	o, kubeconfig := room(t)
	o.fill(t, 60)
	m := startTmux(t, 80, 24, kubeconfig)
	m.live("cm")
	m.shows(`60 objects`)
	m.shows(`cm-000`)
	m.press("End")
	m.shows(`cm-059`)
	m.shows(`^   NAME +DATA +AGE`)
	m.press("Home")
	m.shows(`cm-000`)
	const wheelDown = "\x1b[<65;10;10M"
	for range 5 {
		m.types(wheelDown)
	}
	m.lacks(`cm-000`)
	m.shows(`cm-025`)
	m.press("PageDown", "PageDown")
	m.shows(`cm-045`)
	m.press("q")
	m.shows(`^END=0$`)
}

// TestLiveEnds checks that dwatch restores the terminal and returns the right exit code, however it ends.
func TestLiveEnds(t *testing.T) {
	t.Parallel()
	o, kubeconfig := room(t)
	o.create(t, "one")
	m := startTmux(t, 80, 24, kubeconfig)
	for name, test := range map[string]struct {
		args string
		end  func()
		want string
	}{
		"q":             {"cm", func() { m.press("q") }, `^END=0$`},
		"Ctrl-C":        {"cm", func() { m.press("C-c") }, `^END=0$`},
		"SIGTERM":       {"cm", func() { syscall.Kill(m.pid(), syscall.SIGTERM) }, `^END=0$`},
		"SIGHUP":        {"cm", func() { syscall.Kill(m.pid(), syscall.SIGHUP) }, `^END=0$`},
		"--timeout":     {"cm --timeout 3s", func() {}, `^END=0$`},
		"--until":       {"cm/one --until 'object.?data.?a.orValue(\"\") == \"1\"'", func() { o.mustPatch(t, "configmaps/one", `{"data":{"a":"1"}}`) }, `holds after .*\n(.*\n)?END=0$`},
		"q in --until":  {"cm/one --until deleted", func() { m.press("q") }, `^error: interrupted before --until deleted held: [\s\S]*END=1$`},
		"--until, late": {"cm/one --until deleted --timeout 3s", func() {}, `^error: --timeout 3s passed, [\s\S]*END=124$`},
	} {
		m.command("tmux -S " + m.socket + " clear-history")
		m.live(test.args)
		m.shows(`^   one +\d`)
		test.end()
		t.Log(name)
		m.shows(test.want)
		m.isAsBefore()
	}
}

// sinkMethod matches the method of the live table that receives events.
var sinkMethod = regexp.MustCompile(`\) Deliver\(\w+ context\.Context, batch \[\]event\.Event\) error \{`)

// mutant is inserted there in a test build. It panics for an object called panic.
const mutant = `
for _, e := range batch { if e.Type == event.Added && e.Object.Name == "panic" { panic("it went wrong") } }
`

// TestLivePanics checks that after a panic in the method that receives events, the terminal is restored and shows the
// panic.
func TestLivePanics(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, overlay, root := filepath.Join(dir, "mutant.go"), filepath.Join(dir, "overlay.json"), filepath.Dir(readme.Path(t, "go.mod"))
	sources, err := filepath.Glob(filepath.Join(root, "output/live/*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range sources {
		text, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		if at := sinkMethod.FindIndex(text); at != nil {
			replace := fmt.Sprintf(`{"Replace":{%q:%q}}`, source, file)
			for path, text := range map[string]string{file: string(text[:at[1]]) + mutant + string(text[at[1]:]), overlay: replace} {
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if err := testenv.Build(filepath.Join(dir, "dwatch"), "-overlay", overlay); err != nil {
		t.Fatal(err)
	}
	o, kubeconfig := room(t)
	o.create(t, "one")
	m := startTmux(t, 100, 24, kubeconfig, "GOTRACEBACK=none")
	m.command("PATH=" + dir + ":$PATH")
	m.live("cm")
	m.shows(`^   one +0 `)
	pid := m.pid()
	o.create(t, "panic")
	m.ends(pid)
	m.isAsBefore()
	m.shows(`panic: it went wrong`)
	m.command("echo; echo EN''D; stty -a")
	m.shows(`^END$`)
	m.shows(` icanon `)
}

// TestLiveSuspends checks that Ctrl-Z restores the terminal and suspends dwatch, and fg resumes it.
func TestLiveSuspends(t *testing.T) {
	t.Parallel()
	o, kubeconfig := room(t)
	o.create(t, "one")
	m := startTmux(t, 80, 24, kubeconfig)
	m.live("cm")
	m.shows(`^   one +0 `)
	m.press("C-z")
	m.isAsBefore()
	o.create(t, "two")
	m.command("clear; echo by the shell")
	m.shows(`^by the shell$`)
	m.command("fg")
	m.shows(`^ . two +0 `)
	m.press("q")
	m.isAsBefore()
}

// TestLiveStopped checks SIGSTOP, after which dwatch cannot restore the terminal. When it resumes, it sets the terminal
// up again and redraws the whole screen, and Ctrl-Z still works.
func TestLiveStopped(t *testing.T) {
	t.Parallel()
	o, kubeconfig := room(t)
	o.create(t, "one")
	m := startTmux(t, 80, 24, kubeconfig)
	m.live("cm")
	m.shows(`^   one +0 `)
	pid := m.pid()
	isOn := func() bool {
		return m.run("display-message", "-p", "#{alternate_on} #{mouse_button_flag} #{mouse_sgr_flag} #{cursor_flag}") == "1 1 1 0" && m.settings() != m.before
	}
	whole := func(round string) {
		t.Helper()
		m.shows(`^ \S+: configma\S* in .*\n the watched resources have no health status\n   NAME +DATA +AGE\n[\s\S]*one +0 [\s\S]* q quit$`)
		m.until(isOn, func() string { return "the terminal is not in order " + round + ":\n" + m.screen() })
	}
	for _, tidy := range []string{"", "stty sane; printf '\\033[?1049l\\033[?1002l\\033[?1006l\\033[?25h'; "} {
		syscall.Kill(pid, syscall.SIGSTOP)
		m.until(func() bool { return m.stopped(pid) }, func() string { return "dwatch does not stop" })
		m.types(tidy + "clear; echo by the shell; fg")
		m.press("C-j") // in this mode of the terminal, Enter does not end a line
		whole("after SIGSTOP and fg")
		m.lacks(`by the shell`)

		syscall.Kill(pid, syscall.SIGSTOP)
		m.until(func() bool { return m.stopped(pid) }, func() string { return "dwatch does not stop" })
		m.types("bg")
		m.press("C-j")
		m.until(func() bool { return m.stopped(pid) }, func() string { return "dwatch runs without the terminal" })
		m.types("fg")
		m.press("C-j")
		whole("after SIGSTOP, bg and fg")

		m.press("C-z")
		m.isAsBefore()
		m.command("clear; echo by the shell")
		m.shows(`^by the shell$`)
		m.command("fg")
		whole("after Ctrl-Z and fg")
	}
	m.press("q")
	m.isAsBefore()
}

// stopped reports whether a process is stopped and the shell has the terminal again.
func (m *tmux) stopped(pid int) bool {
	m.t.Helper()
	out, err := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		m.t.Fatal(err)
	}
	return strings.HasPrefix(string(out), "T") && !strings.Contains(string(out), "+")
}

// TestLiveSuspendsNot checks that Ctrl-Z does not stop dwatch if no shell could resume it, as with ssh -t.
func TestLiveSuspendsNot(t *testing.T) {
	t.Parallel()
	o, kubeconfig := room(t)
	o.create(t, "one")
	m := startTmux(t, 80, 24, kubeconfig)
	m.run("set-option", "-g", "remain-on-exit", "on")
	m.command("exec dwatch live cm")
	m.shows(`^   one +0 `)
	m.press("C-z")
	o.create(t, "two")
	m.shows(`^ . two +0 `)
	m.press("q")
	m.until(func() bool { return m.run("display-message", "-p", "#{pane_dead}") == "1" }, func() string { return "q does not end it:\n" + m.screen() })
}

// TestLiveClosedTerminal checks that dwatch ends when its terminal is closed.
func TestLiveClosedTerminal(t *testing.T) {
	t.Parallel()
	o, kubeconfig := room(t)
	o.create(t, "one")
	m := startTmux(t, 80, 24, kubeconfig)
	m.live("cm")
	m.shows(`^   one +0 `)
	pid := m.pid()
	m.run("kill-server")
	m.ends(pid)
}

// TestLiveLoss checks that the screen shows a lost connection until it is restored, and then the missed changes.
func TestLiveLoss(t *testing.T) {
	t.Parallel()
	o, kubeconfig := room(t)
	o.create(t, "one")
	f := newFlaky()
	m := startTmux(t, 100, 24, kubeconfig)
	m.live("cm --server " + f.serve(t) + " -n " + o.namespace)
	m.shows(`● connected`)
	f.lose(t)
	m.shows(`✗ connection lost \d+s · last event`)
	m.shows(`NAME +DATA.*! as of \d\d:\d\d:\d\d, connection lost`)
	m.shows(`^ ! \d\d:\d\d:\d\d connection lost, trying again: `)
	o.create(t, "meanwhile")
	f.back()
	m.shows(`● connected`)
	m.shows(`meanwhile`)
	m.press("l")
	m.shows(`connection lost, trying again: [\s\S]*reconnected`)
	m.press("q", "q")
	m.shows(`^END=0$`)
}

// TestLiveServerGone checks that a killed server is shown as a lost connection, and q still works.
func TestLiveServerGone(t *testing.T) {
	t.Parallel()
	cluster, err := testenv.StartCluster()
	if err != nil {
		t.Fatal(err)
	}
	m := startTmux(t, 100, 24, cluster.Kubeconfig)
	m.live("cm,pods -n default")
	m.shows(`● connected`)
	cluster.Kill()
	m.shows(`✗ connection lost \d+s`)
	m.press("q")
	m.shows(`^END=0$`)
	m.isAsBefore()
}

// TestLiveRights checks that the view of Events reports a missing permission to list them.
func TestLiveRights(t *testing.T) {
	t.Parallel()
	user, namespace := grantWatch(t)
	m := startTmux(t, 100, 24, testbed.Kubeconfig)
	m.live("cm -n " + namespace + " --as " + user)
	m.shows(`● connected`)
	m.shows(`^   one +0 `)
	m.press("e")
	m.shows(`this user may not list events in namespace ` + namespace)
	m.press("q", "q")
	m.shows(`^END=0$`)
}

// TestLiveOwner checks that problems of pods are shown for their Deployment, although the ReplicaSets are not watched,
// together with the change before the problem, which fits into 80 columns.
func TestLiveOwner(t *testing.T) {
	t.Parallel()
	c := controllersBed(t)
	m := startTmux(t, 80, 24, c.Kubeconfig)
	namespace, kubectl := kubectlOn(t, c)
	kubectl("create", "deployment", "web", "--image", "registry.example/shop/web:1")
	kubectl("rollout", "status", "deploy/web", "--timeout", "1m")
	m.live("deploy,po -n " + namespace)
	m.shows(`^ no problems`)
	kubectl("patch", "deploy/web", "--field-manager", "argocd", "-p", `{"spec":{"template":{"spec":{"nodeName":"nowhere","containers":[{"name":"web","image":"registry.example/shop/web:2"}]}}}}`)
	var pod string
	m.until(func() bool {
		pod = strings.TrimSpace(kubectl("get", "pods", "-o", "name", "--field-selector", "spec.nodeName=nowhere"))
		return pod != ""
	}, func() string { return "there is no new pod" })
	kubectl("patch", pod, "--subresource", "status", "-p", `{"status":`+loops(`{"exitCode":1,"reason":"Error","message":"panic: no such currency"}`)+`}`)
	m.shows(`^ ✗ deploy/web  CrashLoopBackOff .*since \d\d:\d\d:\d\d$\n^ +after argocd: image registry\.example/shop/web:1 → registry\.example/shop/web:2$|^ ✗ deploy/web  CrashLoopBackOff.*  after argocd: image 1 → 2$`)
	t.Log(m.screen())
	m.press("q")
	m.shows(`^END=0$`)
}

// TestLiveRollout checks that the screen shows a Deployment, its ReplicaSets and their pods during a rollout, pods that
// are not ready first.
func TestLiveRollout(t *testing.T) {
	t.Parallel()
	c := controllersBed(t)
	m := startTmux(t, 100, 30, c.Kubeconfig)
	namespace, kubectl := kubectlOn(t, c)
	kubectl("create", "deployment", "web", "--image", "web:1", "--replicas", "3")
	kubectl("rollout", "status", "deploy/web", "--timeout", "1m") // so that the patch below is the first change
	m.live("deploy,rs,po -n " + namespace)
	m.shows(`^.. web +3/3 +3 +3 `)
	// The new pods stay pending until the test has seen them.
	kubectl("patch", "deploy/web", "-p", `{"spec":{
		"strategy":{"rollingUpdate":{"maxSurge":3,"maxUnavailable":0}},
		"template":{"spec":{"schedulingGates":[{"name":"example.com/seen"}],"containers":[{"name":"web","image":"web:2"}]}}}}`)
	m.shows(`PODS 6 .*(\n◌. web-\w+-\w+ +0/1 +SchedulingGated .*){3}`)
	for _, pod := range strings.Fields(kubectl("get", "pods", "-o", "name", "--field-selector", "status.phase=Pending")) {
		kubectl("patch", pod, "--type", "json", "-p", `[{"op":"remove","path":"/spec/schedulingGates"}]`)
	}
	m.shows(`^ - web-\w+-\w+ `)
	m.shows(`^.. web-\w+ +0 +0 +0 `)
	m.shows(`DEPLOYMENTS 1[\s\S]*web +3/3 +3 +3[\s\S]*REPLICASETS 2[\s\S]*PODS 3 `)
	m.press("Enter")
	m.shows(`changes of deployments/web`)
	m.press("Home")
	m.shows(`spec\.template\.spec\.containers\[name=web\]\.image  web:1 → web:2`)
	m.press("q", "q")
	m.shows(`^END=0$`)
	m.isAsBefore()
}

// kubectlOn creates a namespace, and returns a function that runs kubectl in it.
func kubectlOn(t *testing.T, c *testenv.Cluster) (namespace string, kubectl func(args ...string) string) {
	t.Helper()
	o, err := newObjectsOn(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.leave)
	return o.namespace, func(args ...string) string {
		t.Helper()
		cmd := exec.Command(readme.Path(t, "bin/kubectl"), append([]string{"--kubeconfig", c.Kubeconfig, "-n", o.namespace}, args...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
}
