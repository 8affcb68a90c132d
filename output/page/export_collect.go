package page

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"dwatch/output/inventory"
	"dwatch/watcher/event"
	"dwatch/watcher/object/kubeevent"
)

// exportCollector collects the content of an exported file while it replays the recording. It embeds Options because the
// recording, the targets and the comparison come from them.
type exportCollector struct {
	Options
	hub             *Hub
	known           Coverage
	lines           lines
	states          allContents
	problemSchedule problemSchedule
	failures        []*failure              // in the order in which they were found
	failed          map[failureKey]*failure // failures by each of their keys
	named           map[string]string       // IDs of existing objects, by nameOf
	seq             uint64                  // sequence number of the last message that drain took
}

func newExportCollector(o Options, max int) *exportCollector {
	g := &exportCollector{Options: o, hub: New(o), failed: map[failureKey]*failure{}, named: map[string]string{}}
	g.lines.max, g.states.max, g.states.last = rawMessages*max, rawContents*max, map[*inventory.Entry]*content{}
	g.hub.onChange = g.observe
	return g
}

// play replays the whole recording. Afterwards the Hub shows its last time.
func (g *exportCollector) play(ctx context.Context) (err error) {
	g.known, err = g.Recording.Replay(ctx, time.UnixMilli(1<<50), event.SinkFunc(g.deliver))
	if err != nil {
		return err
	}
	g.drain()
	g.addProblemsUntil(g.known.To)
	g.hub.showPast(g.known.To, &g.known, g.known.From)
	return nil
}

// deliver passes the events to the Hub, grouped by second, and computes the problems after each group.
func (g *exportCollector) deliver(ctx context.Context, batch []event.Event) error {
	for len(batch) > 0 {
		second, n := batch[0].Time.Truncate(time.Second), 1
		for n < len(batch) && batch[n].Time.Truncate(time.Second).Equal(second) {
			n++
		}
		g.addProblemsUntil(second)
		if err := g.hub.Deliver(ctx, batch[:n]); err != nil {
			return err
		}
		g.drain()
		g.problemSchedule.observe(batch[n-1].Time)
		g.addProblemsAt(batch[n-1].Time)
		batch = batch[n:]
	}
	return nil
}

// drain adds the new messages of the Hub to lines. A message without a time, such as the columns of a resource, gets the
// time of the next message that has one, and stays in the log of the Hub until then.
func (g *exportCollector) drain() {
	entries, _ := g.hub.log.after(g.seq, math.MaxInt)
	waiting := 0
	for n, e := range entries {
		at := gjson.GetBytes(e.headOf(), "time").Int()
		if at == 0 {
			continue
		}
		for ; waiting <= n; waiting++ {
			one := entries[waiting]
			g.seq = one.seq
			g.lines.add(line{at: at, entry: one, feed: one.feed})
		}
	}
}

// headOf returns the message without its row.
func (e *entry) headOf() []byte { return e.short() }

// observe collects what the messages of the Hub lack: object contents, failures and Events.
func (g *exportCollector) observe(c *inventory.Change) {
	s := c.State
	g.states.add(c)
	name := nameOf(s.Entry.Resource.String(), s.Entry.Cluster, s.Entry.Namespace, s.Entry.Name)
	switch {
	case c.Event.Type != event.Deleted:
		g.named[name] = s.Entry.ID
	case g.named[name] == s.Entry.ID:
		delete(g.named, name)
	}
	if s.Status == kstatus.FailedStatus && !s.Initial && (c.Before == nil || c.Before.Status != kstatus.FailedStatus) {
		g.addFailure(s.Entry.ID, millis(s.Time))
	}
	if s.Object.IsEvent() {
		g.drain() // earlier messages precede the Event
		g.lines.add(line{at: millis(s.Time), text: kubeEventMessageOf(s)})
	}
}

func nameOf(resource, cluster, namespace, name string) string {
	return strings.Join([]string{resource, cluster, namespace, name}, "/")
}

// kubeEventMessage adds a Kubernetes Event to the panel of its object. A nil Item means that the Event was deleted.
type kubeEventMessage struct {
	Type string         `json:"type"`
	Time int64          `json:"time"`
	Key  string         `json:"key"`
	Item *kubeEventItem `json:"item"`
}

func kubeEventMessageOf(s *inventory.State) []byte {
	t := kubeEventMessage{Type: "told", Time: millis(s.Time), Key: s.Entry.ID}
	if s.Type != event.Deleted {
		e := kubeevent.Parse(s.Object.Raw())
		t.Item = kubeEventItemOf(&e)
		t.Item.About = clip(e.InvolvedObjectName(), maxName)
	}
	return encode(t)
}

// eventsKnown returns an error if the recording does not contain Kubernetes Events.
func (g *exportCollector) eventsKnown() error {
	_, err := g.hub.inventory.EventsFor(inventory.Now, g.Targets, "")
	return err
}

// lines has the messages of a file, oldest first.
type lines struct {
	all        []line
	bytes, max int
	cut        int64 // time of the last omitted message, in ms; 0 means none
}

// line is a message: an entry of the Hub's log, or text if entry is nil.
type line struct {
	at    int64
	entry *entry
	text  []byte
	feed  bool
}

func (l *line) size() int {
	if l.entry != nil {
		return l.entry.size()
	}
	return len(l.text)
}

func (l *line) appendTo(dst []byte) []byte {
	if l.entry != nil {
		return l.entry.full(dst)
	}
	return append(dst, l.text...)
}

func (ls *lines) add(l line) {
	if n := len(ls.all); n > 0 { // clocks may go backwards
		l.at = max(l.at, ls.all[n-1].at)
	}
	ls.all = append(ls.all, l)
	ls.bytes += l.size()
	for ls.bytes > ls.max && len(ls.all) > 1 {
		ls.bytes -= ls.all[0].size()
		ls.cut = ls.all[0].at
		ls.all[0] = line{}
		ls.all = ls.all[1:]
	}
}

// strip removes the messages with the same time as the last omitted one.
func (ls *lines) strip() {
	n := 0
	for ls.cut > 0 && n < len(ls.all) && ls.all[n].at <= ls.cut {
		n++
	}
	ls.all = ls.all[n:]
}

// problemSchedule decides when the problems are computed: every second, until settleTime after the last event.
type problemSchedule struct {
	next, last time.Time
	message    []byte
}

// settleTime is how long after the last event the problems can still change through time alone.
const settleTime = 150 * time.Second

func (l *problemSchedule) observe(at time.Time) {
	l.last = at
	if next := at.Truncate(time.Second).Add(time.Second); l.next.Before(next) {
		l.next = next
	}
}

// addProblemsUntil computes the problems for each second that is due, up to and including until.
func (g *exportCollector) addProblemsUntil(until time.Time) {
	l := &g.problemSchedule
	for !l.last.IsZero() && !l.next.After(until) && l.next.Sub(l.last) < settleTime {
		g.addProblemsAt(l.next)
		l.next = l.next.Add(time.Second)
	}
}

func (g *exportCollector) addProblemsAt(at time.Time) {
	all := g.hub.inventory.Problems(at, maxProblems, g.Compare)
	m := problemsOf(g.hub, all, at)
	message := encode(m)
	if bytes.Equal(message, g.problemSchedule.message) || g.problemSchedule.message == nil && len(all)+len(m.Fights) == 0 {
		return
	}
	g.problemSchedule.message = message
	g.lines.add(line{at: millis(at), text: append(fmt.Appendf(nil, `{"time":%d,`, millis(at)), message[1:]...)})
	for n := range all[:min(len(all), maxProblems)] {
		p := &all[n]
		if p.Since.IsZero() {
			continue
		}
		root := g.named[nameOf(p.Resource.String(), p.State.Entry.Cluster, p.Root.Namespace, p.Root.Name)]
		g.addFailure(p.State.Entry.ID, millis(p.Since), root)
	}
}

// failure is a time at which an object failed or its problem began.
type failure struct {
	keys []string // of the object, then of its roots
	at   int64    // in ms
}

// failureKey identifies a failure by its object and time in ms.
type failureKey struct {
	key string
	at  int64
}

func (m failureKey) String() string { return fmt.Sprintf("%s %d", m.key, m.at) }

// addFailure adds a failure of the object key and of its roots. Each object and time is added once.
func (g *exportCollector) addFailure(key string, at int64, roots ...string) {
	f := g.failed[failureKey{key, at}]
	if f == nil {
		f = &failure{[]string{key}, at}
		g.failures, g.failed[failureKey{key, at}] = append(g.failures, f), f
	}
	for _, root := range roots {
		if one := (failureKey{root, at}); root != "" && g.failed[one] == nil {
			f.keys, g.failed[one] = append(f.keys, root), f
		}
	}
}

// maxLeadUps is the number of failures whose lead-up a file has. The latest are included. The limit bounds the search time.
const maxLeadUps = 100

// findLeadUps returns the lead-ups to failures as JSON, keyed by failureKey, and the number of failures without one.
func (g *exportCollector) findLeadUps(ctx context.Context) (text []byte, missing int) {
	all := map[string]leadUpAnswer{}
	for n, f := range g.failures {
		if len(g.failures)-n > maxLeadUps || ctx.Err() != nil {
			missing++
			continue
		}
		missed := false
		for _, key := range f.keys {
			if answer, err := (leadUpLookup{g.hub}).lookup(ctx, key, f.at); err != nil {
				missed = true
			} else {
				all[failureKey{key, f.at}.String()] = answer
			}
		}
		if missed {
			missing++
		}
	}
	return encode(all), missing
}

// allContents has the contents of objects, oldest first. Consecutive changes of noise are merged into the last one.
type allContents struct {
	all        []*content
	last       map[*inventory.Entry]*content // latest content of each existing object
	bytes, max int
	cut        int64 // latest time of an omitted content, in ms; 0 means none
}

// content is the content of an object since a time.
type content struct {
	at    int64            // in ms
	state *inventory.State // nil if omitted
	noise bool             // only noise changed
	// unsure is true if an earlier change of noise was merged into this one.
	unsure bool
}

func (ss *allContents) add(c *inventory.Change) {
	s := c.State
	noise := c.Event.Type == event.Modified && !c.IsSignificant()
	last := ss.last[s.Entry]
	if last != nil && last.noise && noise && last.state != nil {
		ss.bytes += s.Size() - last.state.Size()
		last.at, last.state, last.unsure = millis(c.Event.Time), s, true
		return
	}
	one := &content{at: millis(c.Event.Time), state: s, noise: noise}
	ss.all, ss.last[s.Entry] = append(ss.all, one), one
	if s.Type == event.Deleted {
		delete(ss.last, s.Entry)
	}
	ss.bytes += s.Size()
	for ss.bytes > ss.max && len(ss.all) > 1 {
		ss.bytes -= ss.all[0].state.Size()
		ss.cut = max(ss.cut, ss.all[0].at)
		ss.all[0].state = nil
		ss.all = ss.all[1:]
	}
}

// newest sorts the contents, newest first, and returns them.
func (ss *allContents) newest() []*content {
	slices.SortStableFunc(ss.all, func(a, b *content) int { return cmp.Compare(b.at, a.at) })
	return ss.all
}

// exportedContent is the content of an object in a file. YAML omits the first First and the last Last lines if they are
// the same as in the previous content of the object in the block.
type exportedContent struct {
	Key        string      `json:"k"`
	At         int64       `json:"t"`
	Ended      bool        `json:"e,omitempty"`
	Initial    bool        `json:"i,omitempty"`
	Noise      bool        `json:"n,omitempty"`
	Unsure     bool        `json:"u,omitempty"`
	Cut        bool        `json:"c,omitempty"`
	First      int         `json:"p,omitempty"`
	Last       int         `json:"s,omitempty"`
	YAML       string      `json:"y"`
	Conditions []condition `json:"d,omitempty"`
	Containers []container `json:"b,omitempty"`
}

// packContents packs the first contents of all into a block of about size bytes, before compression. It also returns
// their number.
func packContents(all []*content, size int) (packed, int) {
	var some []exportedContent
	for raw := 0; raw < size && len(some) < len(all); {
		c := all[len(some)]
		one := exportedContent{Key: c.state.Entry.ID, At: c.at, Ended: c.state.Type == event.Deleted, Initial: c.state.Initial && !c.noise, Noise: c.noise, Unsure: c.unsure}
		one.YAML, one.Cut = yamlOf(c.state.Object)
		raw += len(one.YAML)
		text := c.state.Object.Raw()
		one.Conditions, one.Containers = conditionsOf(text), containersOf(text)
		some = append(some, one)
	}
	p := packed{from: some[len(some)-1].At, until: some[0].At}
	n := len(some)
	slices.SortStableFunc(some, func(a, b exportedContent) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.At, b.At))
	})
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	var before []string
	for i := range some {
		one := &some[i]
		lines := strings.Split(one.YAML, "\n")
		if i == 0 || some[i-1].Key != one.Key {
			p.keys = append(p.keys, one.Key)
		} else {
			one.shorten(before, lines)
		}
		one.YAML = strings.Join(append(slices.Clip(lines[one.First:len(lines)-one.Last]), ""), "\n")
		before = lines
		encoder.Encode(one) // cannot fail
	}
	p.text = pack(text.Bytes())
	return p, n
}

// shorten sets First and Last.
func (c *exportedContent) shorten(before, lines []string) {
	most := min(len(before), len(lines))
	for c.First < most && before[c.First] == lines[c.First] {
		c.First++
	}
	for c.Last < most-c.First && before[len(before)-1-c.Last] == lines[len(lines)-1-c.Last] {
		c.Last++
	}
}
