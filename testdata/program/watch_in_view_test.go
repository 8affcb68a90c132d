//go:build unix

package program

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/clipperhouse/displaywidth"
	"golang.org/x/sys/unix"

	"dwatch/cli/fail"
)

// flaky is a proxy that can close its watches, and then all new connections.
type flaky struct {
	front
	closing atomic.Bool
	watches chan context.CancelFunc
}

func newFlaky() *flaky {
	f := &flaky{watches: make(chan context.CancelFunc, 100)}
	f.instead = func(w http.ResponseWriter, r *http.Request) bool {
		if f.closing.Load() {
			panic(http.ErrAbortHandler)
		}
		if r.URL.Query().Has("watch") {
			ctx, cancel := context.WithCancel(r.Context())
			*r = *r.WithContext(ctx)
			f.watches <- cancel
		}
		return false
	}
	return f
}

// opened waits until a watch is open.
func (f *flaky) opened(t *testing.T) {
	t.Helper()
	f.watches <- receive(t, f.watches)
}

// lose closes a watch, and rejects new requests until back is called.
func (f *flaky) lose(t *testing.T) {
	f.closing.Store(true)
	receive(t, f.watches)()
}

func (f *flaky) back() { f.closing.Store(false) }

// TestOutageInView checks that with -o changes messages about the connection are printed between the changes on stdout,
// also to a file and with --quiet, and not on stderr.
func TestOutageInView(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		flags  []string
		time   string
		stderr string
	}{
		"to a file":     {nil, `\d\d:\d\d:\d\d`, "watching .*\n"},
		"quiet":         {[]string{"-q"}, `\d\d:\d\d:\d\d`, ""},
		"in other time": {[]string{"--timestamps"}, `\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d`, "watching .*\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, _ := room(t)
			o.create(t, "before")
			f := newFlaky()
			s := startScreen(t, 0, nil, append([]string{"cm", "--server", f.serve(t), "-n", o.namespace, "-o", "changes"}, test.flags...)...)
			s.shows(t, ` = 1 configmap in `)
			f.lose(t)
			s.shows(t, `^`+test.time+` ! connection lost, trying again: 127\.0\.0\.1:\d+: it closed the connection without an answer$`)
			o.create(t, "meanwhile")
			f.back()
			s.shows(t, `^`+test.time+` ! reconnected, nothing missed$`)
			s.shows(t, ` \+ cm/meanwhile  Current$`)
			s.quit(t, test.stderr)
			if n := strings.Count(s.screen.String(), " ! "); n != 2 {
				t.Errorf("%d lines about the connection:\n%s", n, s.screen.String())
			}
		})
	}
}

// TestStatusOnSignal checks that SIGUSR1 prints the state of the watch in each format, and does not end dwatch.
func TestStatusOnSignal(t *testing.T) {
	t.Parallel()
	for format, test := range map[string]struct {
		flags  []string
		hidden string
	}{
		"changes": {[]string{"--ignore", "data"}, "; 1 event is not shown because it changed only noise; --noise shows it"},
		"json":    {nil, ""},
	} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			o, _ := room(t)
			f := newFlaky()
			p := startPiped(t, "", append(test.flags, "cm", "--server", f.serve(t), "-n", o.namespace, "-q", "-o", format)...)
			asking := func(pattern string) {
				t.Helper()
				p.asks(t, syscall.SIGUSR1, pattern)
			}
			f.opened(t) // earlier the signal would kill dwatch
			asking(`^connected; 1 resource; no event yet$`)
			o.create(t, "one")
			asking(`^connected; 1 resource; last event \d+s ago$`)
			if err := o.patch("configmaps/one", `{"data":{"k":"v"}}`); err != nil {
				t.Fatal(err)
			}
			asking(`^connected; 1 resource; last event \d+s ago` + test.hidden + `$`)
			f.lose(t)
			asking(`^connection lost, trying again; 1 resource; last event \d+s ago` + test.hidden + `$`)
			f.back()
			asking(`^connected; 1 resource; last event \d+s ago` + test.hidden + `$`)
			p.signal(os.Interrupt)
			p.ends(t, fail.ExitOK, `(.+\n)+`)
		})
	}
	t.Run("before an answer", func(t *testing.T) {
		t.Parallel()
		server, reached := mute(t)
		p := startPiped(t, "", "cm", "--server", "http://"+server)
		receive(t, reached)
		p.signal(syscall.SIGUSR1)
		p.says(t, "^connecting$")
		p.signal(os.Interrupt)
		p.ends(t, fail.ExitOK, "connecting\n")
	})
	t.Run("with a reader who does not read", func(t *testing.T) {
		t.Parallel()
		o, kubeconfig := room(t)
		o.fill(t, 500)
		p := startPiped(t, kubeconfig, "cm")
		awaitFull(t, p.write)
		p.signal(syscall.SIGUSR1)
		p.says(t, `^connect(ed|ing); 1 resource; last event \d+s ago$`)
	})
}

// asks sends a signal repeatedly until stderr contains a matching answer.
func (p *piped) asks(t *testing.T, s os.Signal, pattern string) {
	t.Helper()
	wanted := regexp.MustCompile("(?m)" + pattern)
	// Earlier answers do not count.
	before, deadline := len(p.stderr.String()), time.Now().Add(patience)
	for time.Now().Before(deadline) {
		_, more := p.stderr.look()
		p.signal(s)
		receive(t, more)
		if wanted.MatchString(p.stderr.String()[before:]) {
			return
		}
	}
	said := strings.Split(strings.TrimSpace(p.stderr.String()), "\n")
	t.Fatalf("the answer does not match %s: %s", pattern, said[len(said)-1])
}

// screen is a dwatch process whose stdout is a terminal or a pipe that the test reads.
type screen struct {
	*piped
	master *os.File
	screen transcript
	closed chan struct{}
}

// startScreen starts dwatch at a terminal with the given width. Zero means a pipe.
func startScreen(t *testing.T, columns int, env []string, args ...string) *screen {
	t.Helper()
	s := &screen{closed: make(chan struct{})}
	var out *os.File
	if columns == 0 {
		var err error
		if s.master, out, err = os.Pipe(); err != nil {
			t.Fatal(err)
		}
	} else {
		s.master, out = openTerminal(t)
		s.resize(t, columns)
	}
	defer out.Close()
	p := &piped{cmd: exec.Command(filepath.Join(binaries, "dwatch"), args...), ended: make(chan struct{})}
	s.piped = p
	p.cmd.Env = append([]string{"HOME=" + t.TempDir(), "GORACE=" + os.Getenv("GORACE"), "TERM=xterm"}, env...)
	p.cmd.Stdout, p.cmd.Stderr = out, &p.stderr
	p.stderr.stripTimes = true
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.cmd.Wait() // ProcessState has the exit code
		close(p.ended)
	}()
	go watchScreen(s.master, &s.screen, s.closed)
	t.Cleanup(func() {
		p.cmd.Process.Kill()
		<-p.ended
		<-s.closed
		s.master.Close()
	})
	return s
}

func (s *screen) resize(t *testing.T, columns int) {
	t.Helper()
	if err := unix.IoctlSetWinsize(int(s.master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: uint16(columns)}); err != nil {
		t.Fatal(err)
	}
}

// shows waits until the screen matches.
func (s *screen) shows(t *testing.T, pattern string) {
	t.Helper()
	if !s.screen.await(regexp.MustCompile("(?m)"+pattern), 1, s.closed) {
		t.Fatalf("the screen does not match %s:\n%s\nstderr:\n%s", pattern, s.screen.String(), s.stderr.String())
	}
}

func (s *screen) quit(t *testing.T, stderr string) {
	t.Helper()
	s.signal(os.Interrupt)
	s.ends(t, fail.ExitOK, stderr)
	receive(t, s.closed)
}

// TestResize checks that lines fit the new width after the terminal was resized.
func TestResize(t *testing.T) {
	t.Parallel()
	o, kubeconfig := room(t)
	o.create(t, "one")
	if err := o.patch("configmaps/one", `{"data":{"a":"1"}}`); err != nil {
		t.Fatal(err)
	}
	s := startScreen(t, 100, []string{"KUBECONFIG=" + kubeconfig, "NO_COLOR=1"}, "cm", "-q")
	s.shows(t, " = 1 configmap in ")
	shown := len(s.screen.String())
	for i, columns := range []int{100, 60, 160, 40, 300} {
		s.resize(t, columns)
		key := "k" + strings.Repeat("x", i)
		if err := o.patch("configmaps/one", `{"data":{"`+key+`":"`+strings.Repeat("語 ", 20)+`"}}`); err != nil {
			t.Fatal(err)
		}
		s.shows(t, `data\.`+key+`\b(?s:.*)語.*\n`)
		text := s.screen.String()
		widest := 0
		for line := range strings.Lines(text[shown:]) {
			widest = max(widest, displaywidth.String(strings.TrimRight(line, "\r\n")))
		}
		if widest != columns { // the manager is right-aligned
			t.Errorf("a line has %d columns at a width of %d:\n%s", widest, columns, text[shown:])
		}
		shown = len(text)
	}
	s.quit(t, "")
}

// TestViewColor checks when the changes view uses colours.
func TestViewColor(t *testing.T) {
	t.Parallel()
	o, kubeconfig := room(t)
	o.create(t, "one")
	for name, test := range map[string]struct {
		columns int
		env     string
		flag    string
		colored bool
	}{
		"a terminal":                 {80, "", "auto", true},
		"NO_COLOR":                   {80, "NO_COLOR=1", "auto", false},
		"TERM=dumb":                  {80, "TERM=dumb", "auto", false},
		"a pipe":                     {0, "", "auto", false},
		"a pipe, always":             {0, "", "always", true},
		"a terminal, never":          {80, "", "never", false},
		"NO_COLOR, and still always": {80, "NO_COLOR=1", "always", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startScreen(t, test.columns, []string{"KUBECONFIG=" + kubeconfig, test.env}, "cm", "-q", "-o", "changes", "--color", test.flag)
			s.shows(t, "1 configmap in ")
			s.quit(t, "")
			if got := strings.Contains(s.screen.String(), "\x1b["); got != test.colored {
				t.Errorf("coloured: %t\n%q", got, s.screen.String())
			}
		})
	}
}
