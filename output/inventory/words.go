package inventory

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/output"
)

// Words say a Problem in one line: the sign, what it is about, and why; the Rest as far as it has
// room. Nothing in them can steer a terminal.
type Words struct {
	// Sign has a meaning that Look repeats: what is wrong, is on its way, or is well again.
	Sign rune
	Look Look
	// Subject is the root, as kubectl names it, after its namespace where it was asked for, and after Cluster
	// where there are several.
	Subject, Cluster string
	// Why says all, and Shorter less and less, for where that has no room.
	Why     string
	Shorter []string
	When    string
	// After is the change before it, and that of what the reason names; empty if none is known. Briefly says less of
	// it; empty: it can't.
	After, Briefly string
}

// Look is how bad a problem is.
type Look uint8

const (
	Failed Look = iota // it does not go on by itself
	Waits
	Well // again
)

// Sign is how it is marked.
func (l Look) Sign() rune { return signs[l] }

var signs = map[Look]rune{Failed: '✗', Waits: '◌', Well: '●'}

// NothingWrong says that there are no problems, and NotKnown that nobody can know; see also NothingWrongIn.
const (
	NothingWrong = "nothing needs a look"
	NotKnown     = "what needs a look is not known before all is connected"
)

// NothingWrongIn says that there are no problems in those of several clusters that are connected.
func NothingWrongIn(connected, all int) string {
	switch {
	case connected == 0:
		return NotKnown
	case connected == all:
		return NothingWrong
	}
	return fmt.Sprintf("%s in %d of %d clusters; of the others it is not known", NothingWrong, connected, all)
}

// FoundLater says of a change that nobody saw it happen: there may have been other states in between.
const FoundLater = "found out later"

// Names says how objects are named, and times are written.
type Names struct {
	// Short returns the name that a resource is shown by.
	Short func(schema.GroupResource) string
	// Namespaces: there are several, and each object is named with its own.
	Namespaces bool
	// Dated: times have their date, milliseconds and the offset of their zone.
	Dated bool
}

// Words of a problem as of a time.
func (p *Problem) Words(now time.Time, names Names) Words {
	w := Words{Look: p.look(), Why: output.Line(p.State.Why), When: p.when(now, names.Dated)}
	w.Sign = w.Look.Sign()
	w.Shorter = shorter(w.Why)
	if p.Objects > 1 {
		times := fmt.Sprintf(" ×%d", p.Objects)
		w.Why += times
		for i := range w.Shorter {
			w.Shorter[i] += times
		}
	}
	kind := p.Root.Kind
	if p.Resource.Resource != "" {
		kind = names.Short(p.Resource)
	}
	w.Subject = output.Line(kind) + "/" + output.Line(p.Root.Name)
	if names.Namespaces && p.Root.Namespace != "" {
		w.Subject = output.Line(p.Root.Namespace) + " " + w.Subject
	}
	if cluster := p.State.Target.Cluster; cluster != "" {
		w.Cluster = output.Line(cluster)
		w.Subject = w.Cluster + " " + w.Subject
	}
	if p.Over.IsZero() {
		w.sayAfter(p, names)
	}
	return w
}

// sayAfter says what was changed before: of the root, and of what the reason names.
func (w *Words) sayAfter(p *Problem, names Names) {
	if c := p.Cause; c != nil {
		w.After, w.Briefly = c.by(c.What), c.by(c.Brief)
	}
	c := p.Named
	if c == nil {
		return
	}
	what := output.Line(names.Short(c.Of.Resource) + "/" + c.Of.Name + " " + strings.TrimPrefix(c.What, "it "))
	if w.Briefly = what; w.After != "" {
		w.After += "; "
	}
	w.After += c.by(what)
}

// by puts who did it before what was done.
func (c *Cause) by(what string) string {
	if what = output.Line(what); what != "" && c.Who != "" {
		what = output.Line(c.Who) + ": " + what
	}
	return what
}

// shorter says why up to where a part of it ends, then without what it was that said so, then of what is in
// brackets only the first: "CrashLoopBackOff (exit 1)".
func shorter(why string) (all []string) {
	short, rest, _ := strings.Cut(why, ": ")
	if short == "FailedMount" { // which volume matters less than what it lacks
		if of := strings.LastIndex(rest, `": `); of >= 0 {
			rest = rest[of+len(`": `):]
			all = append(all, short+": "+rest)
		}
	}
	if (short == "FailedMount" || short == "FailedCreate") && rest != "" && !strings.ContainsAny(rest, ":,") {
		brief, _, _ := strings.Cut(rest, " (")
		return slices.Compact(append(all, rest, brief, short))
	}
	for n := strings.LastIndexAny(rest, ":,"); n > 0; n = strings.LastIndexAny(rest[:n], ":,") {
		if rest[n+1:] != "" && rest[n+1] == ' ' {
			all = append(all, short+": "+rest[:n]+"…")
		}
	}
	all = append(all, short)
	if before, inside, is := strings.Cut(short, " ("); is {
		if first, _, several := strings.Cut(inside, ", "); several {
			all = append(all, before+" ("+first+")")
		}
		all = append(all, before)
	}
	return all
}

// Fit returns which texts stand behind the subject, where two columns are between them: why, and as
// much as has room of when, and after what. width is how wide a text is.
func (w *Words) Fit(room int, width func(string) int) (why, when, after string) {
	total := func(texts ...string) (n int) {
		for _, text := range texts {
			if text != "" {
				n += 2 + width(text)
			}
		}
		return width(w.Subject) + n
	}
	afters := []string{""}
	for _, after := range []string{w.Briefly, w.After} {
		if after != "" {
			afters = append(afters, "after "+after)
		}
	}
	for _, after := range slices.Backward(afters) {
		for _, why := range append([]string{w.Why}, w.Shorter...) {
			if total(why, w.When, after) <= room {
				return why, w.When, after
			}
		}
	}
	return w.Why, "", ""
}

// Below is what stands below the line in which Fit had no room for after what it was; empty: that is not known.
func (w *Words) Below(room int, width func(string) int) string {
	for _, after := range []string{w.After, w.Briefly} {
		if after != "" && width("after "+after) <= room {
			return "after " + after
		}
	}
	if after := cmp.Or(w.Briefly, w.After); after != "" {
		return "after " + after
	}
	return ""
}

func (p *Problem) look() Look {
	switch {
	case !p.Over.IsZero():
		return Well
	case p.Failed:
		return Failed
	}
	return Waits
}

func (p *Problem) when(now time.Time, dated bool) string {
	switch {
	case !p.Over.IsZero():
		return "well again for " + output.HowLong(now, p.Over)
	case !p.Since.IsZero():
		return "since " + output.Day(p.Since, now, dated)
	}
	return "before " + output.Day(p.State.Of.First, now, dated)
}
