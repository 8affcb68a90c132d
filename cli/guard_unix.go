//go:build unix

package cli

import (
	"io"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"syscall"

	"golang.org/x/term"
)

// guard gives the terminal back where dwatch can't do that by itself: after a panic in
// any goroutine, or SIGKILL. It is a shell that waits for the end of a pipe.
type guard struct {
	shell *exec.Cmd
	pipe  *os.File
}

// guardScript gets the settings of the terminal, which is its file 3, what to write to
// it, and whether stderr is one. Its stdin says that all is well, or of what dwatch dies:
// the Go runtime has written that to the screen that is left. It does not wait for all of
// that: the shell that started dwatch may look at the settings as soon as dwatch has ended.
const guardScript = `trap '' HUP INT QUIT TERM TTOU
read -r first
if [ "$first" = done ]; then exit; fi
stty "$1" <&3
printf '%b' "$2" >&3
rest=$(cat)
if [ -n "$first" ] && [ "$3" = true ]; then printf '%s\n' "$first" "$rest" >&2; fi`

// leaveScreen ends all that the screen had set: in this order synchronized output,
// keyboard protocols, mouse, pasting, colours, the other screen; and shows the cursor.
const leaveScreen = `\033[?2026l\033[?2027l\033[>4m\033[<u\033[?1000l\033[?1002l\033[?1003l\033[?1006l\033[?2004l\033[m\033[?1049l\033[?25h`

// newGuard starts to guard a terminal. Where there is no shell, there is no guard.
func newGuard(terminal *os.File) *guard {
	settings := exec.Command("stty", "-g")
	settings.Stdin = terminal
	saved, err := settings.Output()
	if err != nil {
		return nil
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil
	}
	defer read.Close()
	stderrToo := "false"
	if term.IsTerminal(int(os.Stderr.Fd())) {
		stderrToo = "true"
	}
	g := &guard{exec.Command("sh", "-c", guardScript, "dwatch", strings.TrimSpace(string(saved)), leaveScreen, stderrToo), write}
	g.shell.Stdin, g.shell.Stderr, g.shell.ExtraFiles = read, os.Stderr, []*os.File{terminal}
	if err := g.shell.Start(); err != nil {
		write.Close()
		return nil
	}
	debug.SetCrashOutput(write, debug.CrashOptions{}) // or it is only on the screen that is left
	return g
}

// release ends it: the terminal is as it was.
func (g *guard) release() {
	if g == nil {
		return
	}
	debug.SetCrashOutput(nil, debug.CrashOptions{})
	io.WriteString(g.pipe, "done\n")
	g.pipe.Close()
	g.shell.Process.Signal(syscall.SIGCONT) // it may have been stopped with dwatch, and not continued
	g.shell.Wait()
}
