package cli

import (
	"bytes"
	"encoding/json"
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

// stderrLog is stderr. Where that is no terminal, nobody sees when a line comes: of a run that goes on each begins
// with the time. With --log json each line is a JSON object, whoever writes it.
type stderrLog struct {
	w io.Writer

	mu     sync.Mutex
	dated  bool
	inLine bool // the last line has not ended
	asJSON bool
}

// level is how much a line matters.
type level string

const (
	levelDebug level = "debug" // of the Kubernetes client, and of other programs
	levelInfo  level = "info"
	levelWarn  level = "warn" // what --quiet does not hide
	levelError level = "error"
)

// isTerminal reports whether somebody sees the lines as they come. What is no file says itself when they did.
func (t *stderrLog) isTerminal() bool {
	f, isFile := t.w.(*os.File)
	return isFile && term.IsTerminal(int(f.Fd()))
}

// date says whether each line begins with the time from now on, where that is no terminal.
func (t *stderrLog) date(on bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.dated = on && !t.isTerminal()
}

// toJSON makes each line a JSON object from now on.
func (t *stderrLog) toJSON() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asJSON = true
}

// logAs chooses the form of stderr.
func logAs(s Streams, form string) {
	if stderr, ok := s.Err.(*stderrLog); ok && form == flags.LogJSON {
		stderr.toJSON()
	}
}

func (t *stderrLog) isJSON() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.asJSON
}

// Write implements io.Writer.
func (t *stderrLog) Write(text []byte) (int, error) { return t.as(levelInfo).Write(text) }

// as is this stderr for lines of a level.
func (t *stderrLog) as(l level) *lineWriter { return &lineWriter{log: t, level: l} }

// write writes what was said at a time, without the time if that is to be left out.
func (t *stderrLog) write(at time.Time, text []byte) error {
	if !t.dated {
		_, err := t.w.Write(text)
		return err
	}
	var dated []byte
	for line := range bytes.Lines(text) {
		if !t.inLine {
			dated = append(dated, output.FormatTimestamp(at)+" "...)
		}
		dated = append(dated, line...)
		t.inLine = line[len(line)-1] != '\n'
	}
	_, err := t.w.Write(dated)
	return err
}

// lineWriter is stderr for who says things of one level, perhaps of one of several clusters.
type lineWriter struct {
	log     *stderrLog
	level   level
	cluster string // empty: of no one
	rule    string // of a file; empty: of none
	rest    []byte // with --log json, the begin of a line
}

// maxRest is how much of a line waits for its end.
const maxRest = 64 << 10

// logged is a line with --log json.
type logged struct {
	Time    event.Timestamp `json:"time"`
	Level   level           `json:"level"`
	Cluster string          `json:"cluster,omitempty"`
	Rule    string          `json:"rule,omitempty"`
	Message string          `json:"message"`
}

// of is v for what is said of one of several clusters.
func (v *lineWriter) of(cluster string) *lineWriter {
	return &lineWriter{log: v.log, level: v.level, cluster: cluster}
}

// ofRule is v for what is said of one of several rules.
func (v *lineWriter) ofRule(rule string) *lineWriter {
	return &lineWriter{log: v.log, level: v.level, rule: rule}
}

// isOf says of which rule is said what follows.
func (v *lineWriter) isOf(rule string) {
	v.log.mu.Lock()
	defer v.log.mu.Unlock()
	v.rule = rule
}

// Write implements io.Writer. With --log json a line is written when it has ended, or is too long.
func (v *lineWriter) Write(text []byte) (int, error) { return len(text), v.writeAt(time.Now(), text) }

// writeAt writes what was said at a time.
func (v *lineWriter) writeAt(at time.Time, text []byte) error {
	v.log.mu.Lock()
	defer v.log.mu.Unlock()
	if !v.log.asJSON {
		if v.cluster != "" {
			text = append([]byte(v.cluster+": "), text...)
		}
		if v.rule != "" {
			text = append([]byte("rule "+v.rule+": "), text...)
		}
		return v.log.write(at, text)
	}
	var objects bytes.Buffer
	for line := range bytes.Lines(append(v.rest, text...)) {
		if v.rest = nil; line[len(line)-1] != '\n' && len(line) < maxRest {
			v.rest = bytes.Clone(line)
			break
		}
		v.encode(&objects, at, string(line))
	}
	_, err := v.log.w.Write(objects.Bytes())
	return err
}

// end writes, with --log json, the begin of a line whose end does not come.
func (v *lineWriter) end() {
	v.log.mu.Lock()
	defer v.log.mu.Unlock()
	var last bytes.Buffer
	v.encode(&last, time.Now(), string(v.rest))
	v.rest = nil
	_, _ = v.log.w.Write(last.Bytes()) // stderr: there is nowhere to say it
}

func (v *lineWriter) encode(to io.Writer, at time.Time, line string) {
	var encoded strings.Builder
	e := json.NewEncoder(&encoded)
	e.SetEscapeHTML(false)
	if line = strings.TrimRight(line, "\r\n"); line != "" {
		_ = e.Encode(logged{event.Timestamp{Time: at}, v.level, v.cluster, v.rule, line}) // of strings
		_, _ = io.WriteString(to, text.JSON(encoded.String()))                            // as v.log.w.Write
	}
}
