package inventory

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/output"
	"dwatch/watcher/event"
	"dwatch/watcher/object/status"
)

// ProblemText describes a Problem on one line: sign, subject, reason and, if there is room, time and cause. All texts
// are escaped for terminals.
type ProblemText struct {
	// Sign is the sign of Severity.
	Sign     rune
	Severity Severity
	// Subject names the root as kubectl does. It begins with the cluster if there are several, and with the namespace if
	// NameOptions.ShowNamespaces is set.
	Subject, Cluster string
	// Reason is the complete reason. ShortReasons are shorter and shorter forms.
	Reason       string
	ShortReasons []string
	When         string
	// Cause describes the changes before the problem: the root's and that of the object that the reason names. It is
	// empty if none is known. ShortCause is shorter, or empty.
	Cause, ShortCause string
}

// Severity is how severe a problem is.
type Severity uint8

const (
	SeverityFailed Severity = iota
	SeverityWaiting
	SeverityRecovered
)

// Sign returns the character that marks the severity.
func (l Severity) Sign() rune { return signs[l] }

var signs = map[Severity]rune{SeverityFailed: '✗', SeverityWaiting: '◌', SeverityRecovered: '●'}

// AllHealthy is the text if there are no problems and all clusters are connected, and HealthUnknown the text if none is. See
// DescribeHealth. NoHealth is the text if HasHealth returns false.
const (
	AllHealthy    = "no problems"
	HealthUnknown = "problems unknown until all watches are connected"
	NoHealth      = "the watched resources have no health status"
)

// HasHealth reports whether objects of any of the targets have a health status. Otherwise, for example if only ConfigMaps
// and Events are watched, it would be misleading to say that there are no problems. It returns true if there are no targets
// yet.
func HasHealth(targets []*event.WatchState) bool {
	return len(targets) == 0 || slices.ContainsFunc(targets, func(t *event.WatchState) bool {
		return !status.IsStateless(t.Target.Mapping.GroupVersionKind.GroupKind())
	})
}

// DescribeHealth returns the text to show if there are no problems. connected is the number of connected clusters, and all
// the number of clusters.
func DescribeHealth(connected, all int) string {
	switch {
	case connected == 0:
		return HealthUnknown
	case connected == all:
		return AllHealthy
	}
	return fmt.Sprintf("%s in %d of %d clusters; unknown for the others", AllHealthy, connected, all)
}

// DetectedLate marks a change that a list revealed. There may have been other states in between.
const DetectedLate = "noticed later"

// NameOptions configures how Describe writes names and times.
type NameOptions struct {
	// ShortName returns the short name of a resource.
	ShortName func(schema.GroupResource) string
	// ShowNamespaces adds the namespace to each name.
	ShowNamespaces bool
	// FullTimestamps writes times with date, milliseconds and zone offset.
	FullTimestamps bool
}

// Describe returns the text of a problem at a time.
func (p *Problem) Describe(now time.Time, names NameOptions) ProblemText {
	w := ProblemText{Severity: p.severity(), Reason: output.EscapeLine(p.State.Message), When: p.when(now, names.FullTimestamps)}
	w.Sign = w.Severity.Sign()
	w.ShortReasons = shorterReasons(w.Reason)
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
		w.setCause(p, names)
	}
	return w
}

// setCause sets Cause and ShortCause.
func (w *ProblemText) setCause(p *Problem, names NameOptions) {
	if c := p.Cause; c != nil {
		w.Cause, w.ShortCause = c.withManager(c.Summary), c.withManager(c.ShortSummary)
	}
	c := p.NamedCause
	if c == nil {
		return
	}
	what := output.EscapeLine(names.ShortName(c.Entry.Resource) + "/" + c.Entry.Name + " " + strings.TrimPrefix(c.Summary, "it "))
	if w.ShortCause = what; w.Cause != "" {
		w.Cause += "; "
	}
	w.Cause += c.withManager(what)
}

// withManager prefixes a description with the manager that made the change.
func (c *Cause) withManager(what string) string {
	if what = output.EscapeLine(what); what != "" && c.Manager != "" {
		what = output.EscapeLine(c.Manager) + ": " + what
	}
	return what
}

// shorterReasons returns shorter and shorter forms of a reason. It cuts the message at colons and commas, then drops the
// message, then keeps only the first item in parentheses: "CrashLoopBackOff (exit 1)". Finally it drops the parentheses.
func shorterReasons(why string) (all []string) {
	short, rest, _ := strings.Cut(why, ": ")
	if short == "FailedMount" { // the volume matters less than the missing object
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

// Fit chooses the texts that follow the subject within room columns, with two columns between texts. It prefers a longer
// cause to a longer reason, and shortens the reason before it omits the cause. If not even the shortest reason and the time
// fit, it returns the complete reason, which does not fit, and nothing else. width returns the width of a text.
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

// CauseLine returns the cause as a line of its own, for use if Fit returned no cause. If no form of it fits, CauseLine returns
// the shortest. It is empty if no cause is known.
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

func (p *Problem) severity() Severity {
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
		return "recovered " + output.FormatAge(now, p.RecoveredAt) + " ago"
	case !p.Since.IsZero():
		return "since " + output.FormatTime(p.Since, now, dated)
	}
	return "before " + output.FormatTime(p.State.Entry.FirstSeen, now, dated)
}
