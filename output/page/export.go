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

// ExportResult describes the content of an exported file.
type ExportResult struct {
	// From and To limit the times that the file can show.
	From, To    time.Time
	ChangeCount int // changes in the feed
	ObjectCount int // objects with content
	Bytes       int // size of the file
	// Omitted is the data that exceeded the maximum size.
	Omitted Omitted
}

// Omitted describes the oldest data of a recording, which an exported file does not contain.
type Omitted struct {
	// ChangesBefore and ContentsBefore are the times before which changes and contents of objects are omitted. Zero means
	// that none are omitted.
	ChangesBefore, ContentsBefore time.Time
	// LeadUpCount is the number of failures whose lead-up is omitted.
	LeadUpCount int
}

// TooLargeError means that a file with the objects at a single time already exceeds the maximum size. Bytes is its
// approximate size.
type TooLargeError struct{ Bytes int }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the objects at a single time already take %.1f MB", float64(e.Bytes)/1e6)
}

const (
	// leastBlock and mostBlock bound the approximate uncompressed size of a block. A block is included or omitted as a whole.
	leastBlock, mostBlock = 64 << 10, 1 << 20
	// forChanges is the share of the file for changes, in quarters. The rest is for the contents of objects.
	forChanges = 3
	// rawMessages and rawContents limit the collected messages and object contents, as multiples of the file size. The
	// oldest ones beyond that would not fit.
	rawMessages, rawContents = 6, 8
	// slack is reserved for the metadata, which is created last.
	slack = 4 << 10
)

// Export writes the page and the recording o.Recording to w, as one file of at most max bytes that needs no server and no
// network. Changes take at most three quarters of the file, and contents of objects the rest. The oldest of both are
// omitted if they do not fit. It returns a TooLargeError if the objects at a single time exceed max.
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

// export builds a file. It embeds the collector because it chooses the content of the file from what that has collected.
type export struct {
	Options
	ExportResult
	*exportCollector
	max int

	begin    string   // packed snapshot of the first time of the file
	messages []packed // oldest first
	contents []packed // newest first
	leadUps  string   // packed
}

func (x *export) block() int { return min(max(x.max/40, leastBlock), mostBlock) }

// packed is a block of messages or contents.
type packed struct {
	text        string
	from, until int64    // first and last time, in ms; messages have no until
	keys        []string // of the objects, in a block of contents
	next        int      // number of messages in this block and all later ones
}

// pack compresses text and encodes it as base64.
func pack(text []byte) string {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
	z.Write(text) // writing to memory cannot fail
	z.Close()
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

// fit chooses the changes that fit, and sets begin to the snapshot before them.
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

// pick packs the newest messages that fit into quota bytes.
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

// dropMessages omits the oldest block of messages.
func (x *export) dropMessages() {
	x.messages = x.messages[1:]
	rest := 0
	if len(x.messages) > 0 {
		rest = x.messages[0].next
	}
	x.cutAt(len(x.lines.all) - rest)
}

// cutAt omits the messages before index n of x.lines.all. The file begins at the time of the last omitted message.
func (x *export) cutAt(n int) {
	all := x.lines.all
	x.lines.cut = max(x.lines.cut, all[n-1].at)
	// The snapshot includes the other messages of the same millisecond.
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

// lenOf returns the number of messages in block n.
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

// open sets begin, From and To. begin is the snapshot at the first time of the file. It contains no objects if no
// changes are omitted, because the messages then include the initial objects.
func (x *export) open(ctx context.Context) error {
	hub, known := New(x.Options), x.known
	known.StateGapsAtTime = nil // the script computes it for each time from exportedAbout.Blind
	if x.lines.cut > 0 {
		known.From = time.UnixMilli(x.lines.cut)
		x.Omitted.ChangesBefore = known.From
		if _, err := x.Recording.Replay(ctx, known.From, hub); err != nil {
			return err
		}
	}
	hub.showPast(known.From, &known, x.known.From)
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

// collected is a transport that records messages.
type collected struct{ messages [][]byte }

func (c *collected) send(_ context.Context, message []byte) error {
	c.messages = append(c.messages, bytes.Clone(message))
	return nil
}

// fill adds the lead-ups to failures and the newest contents of objects that fit.
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
		// The index entries take room, too.
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

// assemble returns the file. It omits the oldest contents if the file would be slightly too large.
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

// data returns the script elements with the data. Base64 needs no escaping in HTML. It also sets ObjectCount and
// ChangeCount.
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

// changes returns the number of feed messages in the file.
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

// exportedAbout is the metadata of a file, for the script. It adds to the messages that viewers of a server get.
type exportedAbout struct {
	Exported int64 `json:"exported"` // when the file was made
	// Blind is Coverage.StateGaps.
	Blind []gapMessage `json:"blind"`
	// Events explains why the file has no Kubernetes Events. If empty, it has them.
	Events string `json:"events,omitempty"`
	// ChangesBefore, ContentsBefore and LeadUps describe omitted data like Omitted. Max is the maximum size in bytes.
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
		// The end is exclusive, so it is rounded up to whole milliseconds.
		to := millis(g.To.Add(time.Millisecond - 1))
		m.Blind = append(m.Blind, gapMessage{clip(g.Cluster, maxName), millis(g.From), to, clip(g.Reason, maxValue)})
	}
	if err := x.eventsKnown(); err != nil {
		m.Events = err.Error()
	}
	return m
}

// about returns the description of the file in its HTML head, with all times in UTC.
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
		text += fmt.Sprintf(", incomplete (gaps: %d)", len(gaps))
	}
	if t := x.Omitted.ChangesBefore; !t.IsZero() {
		text += ". Left out: changes before " + at(t)
	}
	if t := x.Omitted.ContentsBefore; !t.IsZero() {
		text += ". Left out: contents of objects as they were before " + at(t)
	}
	return clip(text, maxValue)
}
