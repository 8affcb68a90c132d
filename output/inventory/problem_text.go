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
type ProblemText struct {
	// Sign has a meaning that Look repeats: what is wrong, is on its way, or is well again.
	Sign     rune
	Severity Severity
	// Subject is the root, as kubectl names it, after its namespace where it was asked for, and after Cluster
	// where there are several.
	Subject, Cluster string
	// Why says all, and Shorter less and less, for where that has no room.
	Reason       string
	ShortReasons []string
	When         string
	// After is the change before it, and that of what the reason names; empty if none is known. Briefly says less of
	// it; empty: it can't.
	Cause, ShortCause string
}

// Look is how bad a problem is.
type Severity uint8

const (
	SeverityFailed Severity = iota // it does not go on by itself
	SeverityWaiting
	SeverityRecovered // again
)

// Sign is how it is marked.
func (l Severity) Sign() rune { return signs[l] }

var signs = map[Severity]rune{SeverityFailed: '✗', SeverityWaiting: '◌', SeverityRecovered: '●'}

// NothingWrong says that there are no problems, and NotKnown that nobody can know; see also NothingWrongIn.
const (
	AllHealthy    = "nothing needs a look"
	HealthUnknown = "what needs a look is not known before all is connected"
)

// NothingWrongIn says that there are no problems in those of several clusters that are connected.
func DescribeHealth(connected, all int) string {
	switch {
	case connected == 0:
		return HealthUnknown
	case connected == all:
		return AllHealthy
	}
	return fmt.Sprintf("%s in %d of %d clusters; of the others it is not known", AllHealthy, connected, all)
}

// FoundLater says of a change that nobody saw it happen: there may have been other states in between.
const DetectedLate = "found out later"

// Names says how objects are named, and times are written.
type NameOptions struct {
	// Short returns the name that a resource is shown by.
	ShortName func(schema.GroupResource) string
	// Namespaces: there are several, and each object is named with its own.
	ShowNamespaces bool
	// Dated: times have their date, milliseconds and the offset of their zone.
	FullTimestamps bool
}

// Words of a problem as of a time.
func (p *Problem) Describe(now time.Time, names NameOptions) ProblemText {
	w := ProblemText{Severity: p.look(), Reason: output.EscapeLine(p.State.Message), When: p.when(now, names.FullTimestamps)}
	w.Sign = w.Severity.Sign()
	w.ShortReasons = shorter(w.Reason)
	if p.ObjectCount > 1 {
		times := fmt.Sprintf(" ×%d", p.ObjectCount)
		w.Reason += times
		for i := range w.ShortReasons {
			w.ShortReasons[i] += times
		}
	}
	kind := p.Root.Kind
	if p.Resource.Resource != "" {
		kind = names.ShortName(p.Resource)
	}
	w.Subject = output.EscapeLine(kind) + "/" + output.EscapeLine(p.Root.Name)
	if names.ShowNamespaces && p.Root.Namespace != "" {
		w.Subject = output.EscapeLine(p.Root.Namespace) + " " + w.Subject
	}
	if cluster := p.State.Target.Cluster; cluster != "" {
		w.Cluster = output.EscapeLine(cluster)
		w.Subject = w.Cluster + " " + w.Subject
	}
	if p.RecoveredAt.IsZero() {
		w.sayAfter(p, names)
	}
	return w
}

// sayAfter says what was changed before: of the root, and of what the reason names.
func (w *ProblemText) sayAfter(p *Problem, names NameOptions) {
	if c := p.Cause; c != nil {
		w.Cause, w.ShortCause = c.by(c.Summary), c.by(c.ShortSummary)
	}
	c := p.NamedCause
	if c == nil {
		return
	}
	what := output.EscapeLine(names.ShortName(c.Entry.Resource) + "/" + c.Entry.Name + " " + strings.TrimPrefix(c.Summary, "it "))
	if w.ShortCause = what; w.Cause != "" {
		w.Cause += "; "
	}
	w.Cause += c.by(what)
}

// by puts who did it before what was done.
func (c *Cause) by(what string) string {
	if what = output.EscapeLine(what); what != "" && c.Manager != "" {
		what = output.EscapeLine(c.Manager) + ": " + what
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
func (w *ProblemText) Fit(room int, width func(string) int) (why, when, after string) {
	total := func(texts ...string) (n int) {
		for _, text := range texts {
			if text != "" {
				n += 2 + width(text)
			}
		}
		return width(w.Subject) + n
	}
	afters := []string{""}
	for _, after := range []string{w.ShortCause, w.Cause} {
		if after != "" {
			afters = append(afters, "after "+after)
		}
	}
	for _, after := range slices.Backward(afters) {
		for _, why := range append([]string{w.Reason}, w.ShortReasons...) {
			if total(why, w.When, after) <= room {
				return why, w.When, after
			}
		}
	}
	return w.Reason, "", ""
}

// Below is what stands below the line in which Fit had no room for after what it was; empty: that is not known.
func (w *ProblemText) CauseLine(room int, width func(string) int) string {
	for _, after := range []string{w.Cause, w.ShortCause} {
		if after != "" && width("after "+after) <= room {
			return "after " + after
		}
	}
	if after := cmp.Or(w.ShortCause, w.Cause); after != "" {
		return "after " + after
	}
	return ""
}

func (p *Problem) look() Severity {
	switch {
	case !p.RecoveredAt.IsZero():
		return SeverityRecovered
	case p.Failed:
		return SeverityFailed
	}
	return SeverityWaiting
}

func (p *Problem) when(now time.Time, dated bool) string {
	switch {
	case !p.RecoveredAt.IsZero():
		return "well again for " + output.FormatAge(now, p.RecoveredAt)
	case !p.Since.IsZero():
		return "since " + output.FormatTime(p.Since, now, dated)
	}
	return "before " + output.FormatTime(p.State.Entry.FirstSeen, now, dated)
}
