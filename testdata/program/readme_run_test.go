//go:build linux

package program

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"dwatch/testdata/readme"
)

// TestReadmeExamples runs each example of the README and of the pages in docs as a reader would: in a terminal, in a
// cluster with the objects of testdata/readme/objects.yaml, without the objects of earlier examples.
func TestReadmeExamples(t *testing.T) {
	t.Parallel()
	sections := meanwhiles(t)
	stages := map[string]*stage{} // by kind
	for _, page := range pagesWithExamples(t) {
		examples, err := parseExamples(page, readme.Read(t, page), sections)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range examples {
			if stages[e.stage] == nil {
				stages[e.stage] = newStage(t, e.stage)
			}
			t.Run(e.name, func(t *testing.T) {
				needTools(t, e)
				play := &play{stage: stages[e.stage], T: t, dir: t.TempDir(), zone: midday()}
				play.clear(t)
				if text := play.run(e); !e.isShownBy(text) {
					readme.CheckOrUpdate(t, page, e.text, text)
				}
			})
		}
	}
}

// needTools skips an example if its tools are missing.
func needTools(t *testing.T, e example) {
	for _, tool := range []string{"jq", "kubectl"} {
		if !regexp.MustCompile(`(?m)^\$.*\b` + tool + ` `).MatchString(e.text) {
			continue
		}
		if _, err := os.Stat(readme.Path(t, filepath.Join("bin", tool))); err == nil {
			continue
		}
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("this example needs %s: %v", tool, err)
		}
	}
}

// play is a running example.
type play struct {
	*stage
	*testing.T
	dir    string         // working directory of its commands
	zone   string         // time zone of its commands
	script []string       // its remaining steps
	synced map[string]int // number of synced watches per resource before the example
	cmd    *exec.Cmd
	screen *transcript
	closed chan struct{} // closed when no process has the terminal open
	read   int           // "when" has matched the screen up to this offset
	ended  bool          // the script has ended the command, or it ends by itself
	readmeReceivers
	// recorded means that the output has the times of a recording, which are the same in each run.
	recorded bool
}

// run runs an example and returns what its reader would see.
func (p *play) run(e example) string {
	p.script = e.meanwhile
	p.steps()

	var err error
	if p.synced, err = p.syncs(); err != nil {
		p.Fatal(err)
	}
	text := ""
	for _, command := range e.commands {
		p.ended = false
		p.steps()
		p.start(command)
		for len(p.script) > 0 && !p.ended {
			p.when()
			p.steps()
		}
		p.wait()
		text += "$ " + command + "\n" + redrawn(p.shown(p.screen.String()))
	}
	if !p.recorded {
		text = anyClock.ReplaceAllString(text, "09:00:00 ")
	}
	return sameEachTime(strings.ReplaceAll(text, p.dir, "/home/me"))
}

// anyRedraw matches what dwatch prints to draw a table of so many lines again.
var anyRedraw = regexp.MustCompile(`\x1b\[(\d+)A\x1b\[J`)

// redrawn returns what a terminal shows in the end. Without it, the text would have each version of a table.
func redrawn(text string) string {
	for {
		at := anyRedraw.FindStringSubmatchIndex(text)
		if at == nil {
			return text
		}
		shown := strings.SplitAfter(text[:at[0]], "\n")
		n, err := strconv.Atoi(text[at[2]:at[3]])
		if err != nil || n >= len(shown) {
			n = len(shown) - 1
		}
		text = strings.Join(shown[:len(shown)-1-n], "") + text[at[1]:]
	}
}

// start runs a command in a new terminal.
func (p *play) start(command string) {
	master, terminal := openTerminal(p.T)
	defer terminal.Close()
	p.cmd = exec.Command("sh", "-c", p.real(command))
	p.cmd.Dir = p.dir
	p.cmd.Env = append(os.Environ(), "KUBECONFIG="+p.kubeconfig, "HOME="+p.cmd.Dir, "NO_COLOR=1", "TZ="+p.zone,
		"PATH="+strings.Join([]string{binaries, readme.Path(p.T, "bin"), os.Getenv("PATH")}, string(os.PathListSeparator)))
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = terminal, terminal, terminal
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := p.cmd.Start(); err != nil {
		p.Fatal(err)
	}
	cmd, closed := p.cmd, make(chan struct{})
	p.screen, p.closed, p.read = &transcript{}, closed, 0
	go watchScreen(master, p.screen, closed)
	p.Cleanup(func() {
		select {
		case <-closed:
		default:
			syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			<-closed
		}
		cmd.Wait() // returns an error if wait has called it
		master.Close()
	})
}

// watchScreen copies the output of a terminal to screen. It closes closed when no process has the terminal open.
func watchScreen(master *os.File, screen *transcript, closed chan<- struct{}) {
	defer close(closed)
	for buffer := make([]byte, 4096); ; {
		n, err := master.Read(buffer)
		screen.Write(buffer[:n])
		if err != nil { // EIO
			return
		}
	}
}

// openTerminal returns both ends of a terminal.
func openTerminal(t *testing.T) (master, terminal *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	fd := int(master.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	err = errors.Join(err, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	settings, getting := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err = errors.Join(err, getting); err != nil {
		t.Fatal(err)
	}
	settings.Oflag &^= unix.OPOST // do not translate newlines
	err = unix.IoctlSetTermios(fd, unix.TCSETS, settings)
	err = errors.Join(err, unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 100}))
	terminal, opening := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err = errors.Join(err, opening); err != nil {
		t.Fatal(err)
	}
	return master, terminal
}

// signal signals all processes of the example, as the terminal's Ctrl-C does.
func (p *play) signal(s syscall.Signal) { syscall.Kill(-p.cmd.Process.Pid, s) }

// wait waits for the end of the command. It has to succeed, unless the script ended it: then its shell has died of the
// signal.
func (p *play) wait() {
	select {
	case <-p.closed:
	case <-time.After(patience):
		p.Fatalf("the command does not end:\n%s", p.screen.String())
	}
	if err := p.cmd.Wait(); err != nil && !p.ended {
		p.Errorf("%v:\n%s", err, p.screen.String())
	}
}

// when waits until the screen matches the next "when" line of the script.
func (p *play) when() {
	pattern, ok := strings.CutPrefix(p.script[0], "when ")
	if !ok {
		p.Fatalf("the next line of the script is %q, want when", p.script[0])
	}
	p.script = p.script[1:]
	deadline := time.After(patience)
	for {
		text, more := p.screen.look()
		if at := regexp.MustCompile("(?m)" + pattern).FindStringIndex(text[p.read:]); at != nil {
			p.read += at[1]
			return
		}
		select {
		case <-more:
		case <-p.closed:
			p.Fatalf("the command ended before %q appeared:\n%s", pattern, text)
		case <-deadline:
			p.Fatalf("%q did not appear:\n%s", pattern, text)
		}
	}
}

// steps runs the steps up to the next "when", or up to the end of the command.
func (p *play) steps() {
	for len(p.script) > 0 && !p.ended && !strings.HasPrefix(p.script[0], "when ") {
		verb, args, _ := strings.Cut(strings.TrimSpace(p.script[0]), " ")
		at := p
		if verb == "us" {
			verb, args, _ = strings.Cut(args, " ")
			at = &play{stage: p.us, T: p.T, dir: p.dir, zone: p.zone}
		}
		step, ok := readmeSteps[verb]
		if !ok {
			p.Fatalf("there is no step %q", verb)
		}
		if err := step(at, args); err != nil {
			p.Fatalf("%s: %v", p.script[0], err)
		}
		p.script = p.script[1:]
	}
}

var readmeSteps = map[string]func(*play, string) error{
	// apply FILE of testdata/readme
	"apply": func(p *play, file string) error {
		return p.objects.apply(filepath.Join(readmeObjects, file), strings.NewReplacer())
	},
	// copy FILE of testdata/readme to the working directory
	"copy": func(p *play, file string) error {
		text, err := os.ReadFile(filepath.Join(readmeObjects, file))
		return errors.Join(err, os.WriteFile(filepath.Join(p.dir, file), []byte(p.real(string(text))), 0o755))
	},
	// receiver ADDRESS starts a receiver of webhooks. It appends its requests to the file "requests". The example shows
	// ADDRESS instead of the receiver's real address.
	"receiver": func(p *play, address string) error { return p.startWebhook(p.dir, address, p.Cleanup) },
	// respond CODE sets the HTTP status code of the responses of the receiver
	"respond": func(p *play, code string) error { return p.respond(code) },
	// received PATTERN waits until the requests to the receiver match PATTERN
	"received": func(p *play, pattern string) error { return p.received(pattern) },
	// nats ADDRESS starts a NATS server, which the example shows at ADDRESS
	"nats": func(p *play, address string) error { return p.startNATS(p.TempDir(), address, p.Cleanup) },
	// kafka ADDRESS starts a Kafka broker with the topic k8s, which the example shows at ADDRESS
	"kafka": func(p *play, address string) error { return p.startKafka(p.TempDir(), address, p.Cleanup) },
	// mkdir DIRECTORY in the working directory
	"mkdir": func(p *play, name string) error { return os.Mkdir(filepath.Join(p.dir, name), 0o755) },
	// delete TYPE/NAME or TYPE/NAMESPACE/NAME
	"delete": func(p *play, object string) error { return p.objects.remove(object) },
	// later TYPE/NAME patches the object until a second has passed since its creation
	"later": func(p *play, object string) error {
		for i := 0; ; i++ {
			if err := p.objects.patch(object, fmt.Sprintf(`{"metadata":{"annotations":{"later":"%d"}}}`, i)); err != nil {
				return err
			}
			if later, err := p.objects.isLater(object); err != nil || later {
				return err
			}
		}
	},
	// patch TYPE/NAME or TYPE/NAMESPACE/NAME JSON
	"patch": func(p *play, args string) error {
		object, patch, _ := strings.Cut(args, " ")
		return p.objects.patch(object, patch)
	},
	// write MANAGER[/SUBRESOURCE] TYPE/NAME JSON patches the object as a field manager
	"write": func(p *play, args string) error {
		manager, args, _ := strings.Cut(args, " ")
		object, patch, _ := strings.Cut(args, " ")
		manager, subresource, _ := strings.Cut(manager, "/")
		return p.objects.patchAs(manager, subresource, object, patch)
	},
	// recorded DIR FILE writes a recording of the events in a file of testdata/readme, as if they had happened today
	"recorded": func(p *play, args string) error {
		dir, file, _ := strings.Cut(args, " ")
		text, err := os.ReadFile(filepath.Join(readmeObjects, file))
		if err != nil {
			return err
		}
		p.recorded = true
		return recordToday(filepath.Join(p.dir, dir), string(text), p.zone)
	},
	// pending-pod DEPLOYMENT STATUS writes the status of its Pod on node-3, which has no kubelet
	"pending-pod": func(p *play, args string) error {
		deployment, status, _ := strings.Cut(args, " ")
		return p.pendingPod(deployment, status)
	},
	// warn TYPE/NAME REASON: MESSAGE creates a Warning Event about an object
	"warn": func(p *play, args string) error {
		object, text, _ := strings.Cut(args, " ")
		reason, message, _ := strings.Cut(text, ": ")
		return p.objects.warn(object, reason, message)
	},
	// synced RESOURCE [N] waits until the server has sent N more watches their initial objects. dwatch receives later
	// changes as events.
	"synced": func(p *play, args string) error {
		resource, number, _ := strings.Cut(args, " ")
		n, err := strconv.Atoi(cmp.Or(number, "1"))
		return errors.Join(err, p.awaitSync(resource, n, p.synced))
	},
	// outage makes the server unreachable for dwatch, but not for the steps
	"outage": func(p *play, _ string) error { return p.outage() },
	// available DEPLOYMENT waits until the Deployment is rolled out
	"available": func(p *play, name string) error { return p.available(name) },
	// back ends an outage
	"back": func(p *play, _ string) error { return p.back() },
	// ends means that the command ends by itself
	"ends": func(p *play, _ string) error {
		p.ended = true
		return nil
	},
	// end interrupts the command as Ctrl-C does
	"end": func(p *play, _ string) error {
		p.ended = true
		p.signal(syscall.SIGINT)
		return nil
	},
}

var (
	anyLoss            = regexp.MustCompile(`(connection lost, trying again: ).*`) // dwatch may notice the loss in several ways
	anyTime            = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z`)
	anyOffsetTime      = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d`) // in messages to people
	anyRequestHeader   = regexp.MustCompile(`(?m)^(Content-Length: |User-Agent: dwatch/).*`)
	anyDuration        = regexp.MustCompile(`(rollout took )\d+ s`)
	anyClock           = regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d `)
	anySpan            = regexp.MustCompile(`(reconstructed since )\d\d:\d\d:\d\d( before )\d\d:\d\d:\d\d`)
	anyAge             = regexp.MustCompile(`, \d+ s old`)
	anyWait            = regexp.MustCompile(`(, oldest )\d+ s`)
	anyElapsed         = regexp.MustCompile(`((?:holds|\S+/\S+ ready|objects ready|failed) after )[0-9.]+m?s\b`)
	anyKubectlAge      = regexp.MustCompile(`(?m)^(settings +\d+ +)\d+s$`)
	anyRow             = regexp.MustCompile(`(?m)^((?:ADDED|MODIFIED|DELETED) +)\d\d:\d\d:\d\d( .* )\d+s$`)
	anyNode            = regexp.MustCompile(`\bnode-\d`)
	anyFrequency       = regexp.MustCompile(`( \d+ times in )\d+ s\b`)
	anyPageSize        = regexp.MustCompile(`(\.html has )[0-9.]+ MB`)
	anyHidden          = regexp.MustCompile(`\d+( events are not shown)`)
	anyNoise           = regexp.MustCompile(`\+\d( noise )`) // followed by a time if that differs
	anyRollout         = regexp.MustCompile(`(rollout done )(?:in \d+ s|within 1 s); \d+ changes`)
	anyFailed          = regexp.MustCompile(`(rollout failed after )\d+ s(:[^;]*; )\d+ changes`)
	anyPod             = regexp.MustCompile(`(po/web-[0-9a-z]+-)([0-9a-z]{5})\b`)
	anyServer          = regexp.MustCompile(`127\.0\.0\.1:\d+`)
	anyPage            = regexp.MustCompile(`(page: http://127\.0\.0\.1):\d+/\?token=[0-9a-f]{32}`)
	anyUID             = regexp.MustCompile(`()([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})`)
	anyResourceVersion = regexp.MustCompile(`((?:resourceVersion|"from")\W{1,5}|states since |Ce-Resourceversion: |\b[0-9a-f]{12}/)(\d+)`)
)

// sameEachTime replaces what differs from run to run. Equal values stay equal, and resourceVersions keep their order.
func sameEachTime(text string) string {
	text = anyLoss.ReplaceAllString(text, "${1}127.0.0.1:6443: connect: connection refused")
	text = anyTime.ReplaceAllString(text, "2026-01-31T09:00:00Z")
	text = anyOffsetTime.ReplaceAllString(text, "2026-01-31T09:00:00.000+00:00")
	text = anyRequestHeader.ReplaceAllStringFunc(text, func(line string) string {
		if strings.HasPrefix(line, "User-Agent") {
			return "User-Agent: dwatch/1.0.0 (linux/amd64)"
		}
		return "Content-Length: 292"
	})
	text = anyDuration.ReplaceAllString(text, "${1}2 s")
	text = anySpan.ReplaceAllString(text, "${1}07:00:00${2}09:00:00")
	text = anyAge.ReplaceAllString(text, ", 13 min old")
	text = anyWait.ReplaceAllString(text, "${1}0 s")
	text = anyFrequency.ReplaceAllString(text, "${1}40 s")
	text = anyPageSize.ReplaceAllString(text, "${1}0.4 MB")
	text = anyRow.ReplaceAllString(text, "${1}09:00:00${2}13m")
	text = anyElapsed.ReplaceAllString(text, "${1}4.2s")
	text = anyKubectlAge.ReplaceAllString(text, "${1}13m")
	text = anyNode.ReplaceAllString(text, "node-1")
	text = anyHidden.ReplaceAllString(text, "20$1")
	text = anyNoise.ReplaceAllString(text, "+3$1")
	text = anyRollout.ReplaceAllString(text, "${1}in 2 s; 31 changes")
	text = anyFailed.ReplaceAllString(text, "${1}10 s${2}4 changes")
	text = renumber(anyPod, text, distinct(anyPod, text), func(i int) string { return fmt.Sprintf("%cx7kq", "tzbdfghjlmn"[i]) })
	text = anyServer.ReplaceAllString(text, "127.0.0.1:6443")
	text = anyPage.ReplaceAllString(text, "${1}:38247/?token=5f0c2a9e4b7d4c1e8a6f3b2d1c0e9f87")
	uids := distinct(anyUID, text)
	text = renumber(anyUID, text, uids, func(i int) string {
		return fmt.Sprintf("6f1c2b9a-58d4-4c07-9e31-%012x", 0xa40c7e15d200+i)
	})
	versions := distinct(anyResourceVersion, text)
	slices.SortFunc(versions, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)) // as numbers
	})
	return renumber(anyResourceVersion, text, versions, func(i int) string { return fmt.Sprint(1201 + i) })
}

// distinct returns the distinct matches of the second group of a pattern.
func distinct(pattern *regexp.Regexp, text string) []string {
	var found []string
	for _, match := range pattern.FindAllStringSubmatch(text, -1) {
		if !slices.Contains(found, match[2]) {
			found = append(found, match[2])
		}
	}
	return found
}

// renumber replaces each match of the second group of a pattern by name(i), where i is its index in values.
func renumber(pattern *regexp.Regexp, text string, values []string, name func(int) string) string {
	return pattern.ReplaceAllStringFunc(text, func(match string) string {
		parts := pattern.FindStringSubmatch(match)
		return parts[1] + name(slices.Index(values, parts[2]))
	})
}

// midday returns a time zone in which it is noon, so that two hours ago is on the same day.
func midday() string { return fmt.Sprintf("Etc/GMT%+d", time.Now().UTC().Hour()-12) }
