package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"dwatch/cli/flags"
	"dwatch/output"
	"dwatch/output/text"
	"dwatch/watcher/event"
)

// Stderr is stderr. Unless it is a terminal, each line of a run that watches begins with the time. With --log json each line is a
// JSON object, whoever writes it.
type Stderr struct {
	w io.Writer

	mu     sync.Mutex
	dated  bool
	inLine bool // the last line has not ended
	asJSON bool
}

// NewStderr returns a Stderr that writes to w.
func NewStderr(w io.Writer) *Stderr { return &Stderr{w: w} }

// level says how much a line matters.
type level string

const (
	levelDebug level = "debug" // lines of the Kubernetes client and of other programs
	levelInfo  level = "info"
	levelWarn  level = "warn" // lines that --quiet does not hide
	levelError level = "error"
)

func (s *Stderr) isTerminal() bool {
	f, isFile := s.w.(*os.File)
	return isFile && term.IsTerminal(int(f.Fd()))
}

// Date sets whether each line begins with the time. It has no effect on a terminal.
func (s *Stderr) Date(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dated = on && !s.isTerminal()
}

// SetFormat sets the format of stderr to the value of --log.
func (s Streams) SetFormat(format string) {
	if stderr, ok := s.Err.(*Stderr); ok && format == flags.LogJSON {
		stderr.useJSON()
	}
}

func (s *Stderr) useJSON() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asJSON = true
}

// IsJSON reports whether lines are JSON objects.
func (s *Stderr) IsJSON() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asJSON
}

// Error writes the lines of an error that ends the program.
func (s *Stderr) Error(lines []string) {
	prefix := "error: "
	if s.IsJSON() {
		prefix = "" // the level says it
	}
	for _, line := range lines {
		fmt.Fprintln(s.as(levelError), prefix+line)
	}
}

// Write implements io.Writer.
func (s *Stderr) Write(text []byte) (int, error) { return s.as(levelInfo).Write(text) }

func (s *Stderr) as(l level) *lineWriter { return &lineWriter{log: s, level: l} }

// write writes text with the time at before each line, if lines are dated. The caller holds s.mu.
func (s *Stderr) write(at time.Time, text []byte) error {
	if !s.dated {
		_, err := s.w.Write(text)
		return err
	}
	var dated []byte
	for line := range bytes.Lines(text) {
		if !s.inLine {
			dated = append(dated, output.FormatTimestamp(at)+" "...)
		}
		dated = append(dated, line...)
		s.inLine = line[len(line)-1] != '\n'
	}
	_, err := s.w.Write(dated)
	return err
}

// lineWriter writes lines of one level to a Stderr. The lines may name a cluster or a rule.
type lineWriter struct {
	log     *Stderr
	level   level
	cluster string // empty if the lines name no cluster
	rule    string // empty if the lines name no rule
	rest    []byte // with --log json, the beginning of a line that has not ended
}

// maxRest is how many bytes of a line wait for its end.
const maxRest = 64 << 10

// logLine is a line of --log json.
type logLine struct {
	Time    event.Timestamp `json:"time"`
	Level   level           `json:"level"`
	Cluster string          `json:"cluster,omitempty"`
	Rule    string          `json:"rule,omitempty"`
	Message string          `json:"message"`
}

func (w *lineWriter) forCluster(name string) *lineWriter {
	return &lineWriter{log: w.log, level: w.level, cluster: name}
}

func (w *lineWriter) forRule(name string) *lineWriter {
	return &lineWriter{log: w.log, level: w.level, rule: name}
}

func (w *lineWriter) setRule(name string) {
	w.log.mu.Lock()
	defer w.log.mu.Unlock()
	w.rule = name
}

// Write implements io.Writer. With --log json it writes a line when that has ended or is too long.
func (w *lineWriter) Write(text []byte) (int, error) { return len(text), w.writeAt(time.Now(), text) }

func (w *lineWriter) writeAt(at time.Time, text []byte) error {
	w.log.mu.Lock()
	defer w.log.mu.Unlock()
	if !w.log.asJSON {
		if w.cluster != "" {
			text = append([]byte(w.cluster+": "), text...)
		}
		if w.rule != "" {
			text = append([]byte("rule "+w.rule+": "), text...)
		}
		return w.log.write(at, text)
	}
	var objects bytes.Buffer
	for line := range bytes.Lines(append(w.rest, text...)) {
		if w.rest = nil; line[len(line)-1] != '\n' && len(line) < maxRest {
			w.rest = bytes.Clone(line)
			break
		}
		w.encode(&objects, at, string(line))
	}
	_, err := w.log.w.Write(objects.Bytes())
	return err
}

// flush writes, with --log json, the beginning of a line that will not end.
func (w *lineWriter) flush() {
	w.log.mu.Lock()
	defer w.log.mu.Unlock()
	var last bytes.Buffer
	w.encode(&last, time.Now(), string(w.rest))
	w.rest = nil
	_, _ = w.log.w.Write(last.Bytes()) // there is no other place to report an error of stderr
}

func (w *lineWriter) encode(to io.Writer, at time.Time, line string) {
	var encoded strings.Builder
	e := json.NewEncoder(&encoded)
	e.SetEscapeHTML(false)
	if line = strings.TrimRight(line, "\r\n"); line != "" {
		_ = e.Encode(logLine{event.Timestamp{Time: at}, w.level, w.cluster, w.rule, line}) // strings always encode
		_, _ = io.WriteString(to, text.JSON(encoded.String()))                             // a buffer never fails
	}
}
