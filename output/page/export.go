package page

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"slices"
	"time"

	"dwatch/output/inventory"
)

// Exported is what is in a file that shows a recording without a server.
type ExportResult struct {
	// From and To are between which times one can be chosen.
	From, To    time.Time
	ChangeCount int // how many it has
	ObjectCount int // of how many objects it has contents
	Bytes       int
	// LeftOut is what it does not have, as there was no room for it.
	Omitted Omitted
}

// LeftOut is what a file does not have: the oldest.
type Omitted struct {
	// Changes are those before this time, and Contents those of objects as they were before it; zero: none.
	ChangesBefore, ContentsBefore time.Time
	// LeadUps is of how many failures it is not there what led up to them.
	LeadUpCount int
}

// TooLargeError says that what was there at one time alone has no room.
type TooLargeError struct{ Bytes int }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("what is there at one time takes %.1f MB by itself", float64(e.Bytes)/1e6)
}

const (
	// leastBlock and mostBlock are about how much text is compressed together: it has room as a whole, or not at all.
	leastBlock, mostBlock = 64 << 10, 1 << 20
	// forChanges is the share of the size for changes, in quarters: the rest is for the contents of objects.
	forChanges = 3
	// rawMessages and rawContents are how many times the size is held of messages, and of contents (which are compressed),
	// before the oldest are left out: more has no room.
	rawMessages, rawContents = 6, 8
	// slack is for what little is known last.
	slack = 4 << 10
)

// Export writes the page with what o.Past has into one file of at most max bytes, which needs no server and no network.
// What has no room is left out: of the changes the oldest, which take three quarters of the size at most, and in the rest
// the contents of objects as they were the longest ago.
func Export(ctx context.Context, o Options, max int, w io.Writer) (*ExportResult, error) {
	x := &export{Options: o, max: max, exportCollector: newExportCollector(o, max)}
	if err := x.exportCollector.play(ctx); err != nil {
		return nil, err
	}
	if err := x.fit(ctx); err != nil {
		return nil, err
	}
	if err := x.fill(ctx); err != nil {
		return nil, err
	}
	text, err := x.assemble()
	if err != nil {
		return nil, err
	}
	x.Bytes = len(text)
	_, err = io.WriteString(w, text)
	return &x.ExportResult, err
}

// export is a file in the making.
type export struct {
	Options
	ExportResult
	*exportCollector
	max int

	begin    string   // what was there when the file begins, packed
	messages []packed // the oldest first
	contents []packed // the newest first
	leadUps  string
}

func (x *export) block() int { return min(max(x.max/40, leastBlock), mostBlock) }

// packed is text that is compressed, from a time on.
type packed struct {
	text        string
	from, until int64
	keys        []string // of objects whose contents it has
	next        int      // how many items it and all before it have, from the end
}

// pack compresses text for a file.
func pack(text []byte) string {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
	z.Write(text) // into memory nothing fails
	z.Close()
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

// fit chooses which changes have room, and makes what was there before them.
func (x *export) fit(ctx context.Context) error {
	empty, err := newShell("")
	if err != nil {
		return err
	}
	fixed := len(empty.head) + len(empty.tail) + slack
	quota := (x.max - fixed) * forChanges / 4
	x.pick(quota)
	for {
		if err := x.open(ctx); err != nil {
			return err
		}
		over := x.used() - quota
		switch {
		case over <= 0 || len(x.messages) == 0 && x.used() <= x.max-fixed:
			return nil
		case len(x.messages) == 0:
			return &TooLargeError{fixed + x.used()}
		}
		for over > 0 && len(x.messages) > 0 {
			over -= len(x.messages[0].text)
			x.dropMessages()
		}
	}
}

func (x *export) used() (bytes int) {
	for _, p := range x.messages {
		bytes += len(p.text)
	}
	return bytes + len(x.begin)
}

// pick packs the newest messages, as many as have room.
func (x *export) pick(quota int) {
	x.lines.strip()
	all, used := x.lines.all, 0
	end := len(all)
	for end > 0 {
		from := end
		for raw := 0; from > 0 && raw < x.block(); {
			from--
			raw += all[from].size()
		}
		one := packed{text: packLines(all[from:end]), from: all[from].at, next: len(all) - from}
		if used += len(one.text); used > quota {
			break
		}
		x.messages = append(x.messages, one)
		end = from
	}
	slices.Reverse(x.messages)
	if end > 0 {
		x.cutAt(end)
	}
}

// dropMessages leaves out the oldest that are packed.
func (x *export) dropMessages() {
	x.messages = x.messages[1:]
	rest := 0
	if len(x.messages) > 0 {
		rest = x.messages[0].next
	}
	x.cutAt(len(x.lines.all) - rest)
}

// cutAt leaves out the messages before the n-th: the file begins at the last of them.
func (x *export) cutAt(n int) {
	all := x.lines.all
	x.lines.cut = max(x.lines.cut, all[n-1].at)
	// What is of the same millisecond is in what was there then.
	for len(x.messages) > 0 {
		end := len(all) - x.messages[0].next + x.lenOf(0)
		for n < end && all[n].at <= x.lines.cut {
			n++
		}
		if n < end {
			x.messages[0] = packed{text: packLines(all[n:end]), from: all[n].at, next: len(all) - n}
			return
		}
		x.messages = x.messages[1:]
	}
}

// lenOf is how many messages are packed together.
func (x *export) lenOf(n int) int {
	if n+1 < len(x.messages) {
		return x.messages[n].next - x.messages[n+1].next
	}
	return x.messages[n].next
}

func packLines(all []line) string {
	var text []byte
	for i := range all {
		text = append(all[i].appendTo(text), '\n')
	}
	return pack(text)
}

// open makes what was there when the file begins: nothing if it has all from the begin of what was read.
func (x *export) open(ctx context.Context) error {
	hub, known := New(x.Options), x.known
	known.StateGapsAtTime = nil // for each time the script finds it in what is Blind
	if x.lines.cut > 0 {
		known.From = time.UnixMilli(x.lines.cut)
		x.Omitted.ChangesBefore = known.From
		if _, err := x.Recording.Replay(ctx, known.From, hub); err != nil {
			return err
		}
	}
	at := known.From
	hub.clock, hub.ofPast = func() time.Time { return at }, &known
	hub.startedAt(x.known.From)
	var to collected
	if err := (&viewer{Hub: hub, to: &to}).begin(ctx, position{}); err != nil {
		return err
	}
	events, err := hub.inventory.ListAt(inventory.Now, func(s *inventory.State) bool { return s.Object.IsEvent() })
	if err != nil {
		return err
	}
	for _, s := range events {
		to.messages = append(to.messages, kubeEventMessageOf(s))
	}
	x.begin = pack(bytes.Join(to.messages, []byte("\n")))
	x.From, x.To = known.From, known.To
	return nil
}

// collected are the messages that a viewer was sent.
type collected struct{ messages [][]byte }

func (c *collected) send(_ context.Context, message []byte) error {
	c.messages = append(c.messages, bytes.Clone(message))
	return nil
}

// fill adds what led up to failures, and the contents of objects, as far as there is room.
func (x *export) fill(ctx context.Context) error {
	empty, err := newShell("")
	if err != nil {
		return err
	}
	room := x.max - len(empty.head) - len(empty.tail) - slack - x.used()
	leadUps, missing := x.findLeadUps(ctx)
	if err := ctx.Err(); err != nil {
		return err
	}
	if x.leadUps, x.Omitted.LeadUpCount = pack(leadUps), missing; len(x.leadUps) > room/4 {
		x.leadUps, x.Omitted.LeadUpCount = pack([]byte("{}")), len(x.failures)
	}
	room -= len(x.leadUps)
	all := x.states.newest()
	for len(all) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		one, n := packContents(all, x.block())
		// What says where they are takes room, too.
		if room -= len(one.text) + 48*len(one.keys); room < 0 {
			break
		}
		x.contents = append(x.contents, one)
		all = all[n:]
	}
	cut := x.states.cut
	if len(all) > 0 {
		cut = max(cut, all[0].at)
	}
	if cut > 0 {
		x.Omitted.ContentsBefore = time.UnixMilli(cut + 1)
	}
	return nil
}

// assemble makes the file. The oldest contents go if it is too large by a little.
func (x *export) assemble() (string, error) {
	for {
		s, err := newShell(x.about())
		if err != nil {
			return "", err
		}
		text := s.head + x.data() + s.tail
		switch {
		case len(text) <= x.max:
			return text, nil
		case len(x.contents) == 0:
			return "", &TooLargeError{len(text)}
		}
		last := x.contents[len(x.contents)-1]
		x.contents = x.contents[:len(x.contents)-1]
		x.Omitted.ContentsBefore = time.UnixMilli(last.until + 1)
	}
}

// data is what the script reads; each block is text that is no markup.
func (x *export) data() string {
	var b bytes.Buffer
	block := func(class, text string) {
		fmt.Fprintf(&b, "<script type=\"text/plain\" class=\"%s\">%s</script>\n", class, text)
	}
	index := map[string][]int{}
	for n, c := range x.contents {
		for _, key := range c.keys {
			index[key] = append(index[key], n)
		}
	}
	x.ObjectCount, x.ChangeCount = len(index), x.changes()
	block("exported-about", pack(encode(x.meta())))
	block("exported-begin", x.begin)
	for _, m := range x.messages {
		block("exported-messages", m.text)
	}
	block("exported-leadups", x.leadUps)
	block("exported-index", pack(encode(index)))
	for _, c := range x.contents {
		block("exported-contents", c.text)
	}
	return b.String()
}

// changes is how many changes are in the file.
func (x *export) changes() (n int) {
	if len(x.messages) == 0 {
		return 0
	}
	all := x.lines.all
	for _, l := range all[len(all)-x.messages[0].next:] {
		if l.feed {
			n++
		}
	}
	return n
}

// exportedAbout is what the script has to know besides what viewers get.
type exportedAbout struct {
	Exported int64 `json:"exported"` // when the file was made
	// Blind are times of which it is not known what was there, between their ends.
	Blind []gapMessage `json:"blind"`
	// Events says why those about an object are not known; empty: they are.
	Events string `json:"events,omitempty"`
	// ChangesBefore, ContentsBefore and LeadUps are what is left out, as in LeftOut; Max is of how many bytes the file may be.
	ChangesBefore  int64 `json:"changesBefore,omitempty"`
	ContentsBefore int64 `json:"contentsBefore,omitempty"`
	LeadUps        int   `json:"leadUps,omitempty"`
	Max            int   `json:"max"`
}

func (x *export) meta() exportedAbout {
	m := exportedAbout{
		Exported: millis(time.Now()), Blind: []gapMessage{}, Max: x.max, ChangesBefore: millis(x.Omitted.ChangesBefore),
		ContentsBefore: millis(x.Omitted.ContentsBefore), LeadUps: x.Omitted.LeadUpCount,
	}
	for _, g := range x.known.StateGaps {
		// Its end is behind all of it, in ms, too: that of what is not known to the end is less than one behind it.
		to := millis(g.To.Add(time.Millisecond - 1))
		m.Blind = append(m.Blind, gapMessage{clip(g.Cluster, maxName), millis(g.From), to, clip(g.Reason, maxValue)})
	}
	if err := x.eventsKnown(); err != nil {
		m.Events = err.Error()
	}
	return m
}

// about says what the file is to who has no browser.
func (x *export) about() string {
	at := func(t time.Time) string { return t.UTC().Format(time.RFC3339) }
	text := fmt.Sprintf("%s, %s: from %s to %s", x.Cluster, x.Title, at(x.From), at(x.To))
	switch gaps := x.known.Gaps; {
	case len(gaps) == 0 && len(x.known.ReadErrors) > 0:
		text += ", damaged"
	case len(gaps) == 0:
		text += ", complete"
	case len(gaps) == 1 && gaps[0].From.After(x.From) && !gaps[0].To.Before(x.To):
		text += ", complete up to " + at(gaps[0].From)
	default:
		text += fmt.Sprintf(", of which not all is known (gaps: %d)", len(gaps))
	}
	if t := x.Omitted.ChangesBefore; !t.IsZero() {
		text += ". Left out: what was before " + at(t)
	}
	if t := x.Omitted.ContentsBefore; !t.IsZero() {
		text += ". Left out: contents of objects as they were before " + at(t)
	}
	return clip(text, maxValue)
}
