package run

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"dwatch/cli/cluster"
	"dwatch/cli/fail"
	"dwatch/cli/flags"
	"dwatch/cli/plan"
	"dwatch/mapper"
	"dwatch/output"
	"dwatch/watcher/filter"
	"dwatch/watcher/object/change"
	"dwatch/watcher/settle"
)

// Config is what a command line asks for. It contains values, nothing that is left to parse and nothing that changes during a run.
type Config struct {
	Connection *cluster.Flags // which clusters
	Selection  Selection      // which objects

	// Filters for events. All conditions of --where (Where) must hold.
	Filter filter.Options
	Where  []flags.Condition
	Settle flags.Settle
	// Past is --since and --before: dwatch reconstructs changes from before the watch began.
	Past flags.TimeRange

	// Ending is what ends the run.
	Ending flags.StopConditions

	// Print is how events and changes are encoded. Ignored are the fields of --ignore. KeepManaged keeps metadata.managedFields.
	Print       output.Options
	Ignored     change.Patterns
	KeepManaged bool

	// StateFile is the path of --state. If empty, nothing is remembered between runs.
	StateFile string
	Recording Recording

	// Listen is the address of --listen, or empty.
	Listen string
	// Heartbeat and Verify are intervals. Zero disables them.
	Heartbeat, Verify time.Duration
}

// Recording says where a run records what happens in each cluster.
type Recording struct {
	Dir  string // if empty, nothing is recorded
	Keep flags.Retention
	// Tee is set with --record: the destination gets the events, too. Otherwise the run only records, and it
	// continues from the content of the directory.
	Tee bool
}

// Selection is which objects a command line names.
type Selection struct {
	Request plan.Request
	// Object is the object of --for, or nil. If no resources are named, WithRelated selects all objects that belong to it.
	Object      *mapper.Argument
	WithRelated bool
	// AnyNamespace treats a choice of namespaces as all namespaces: others may match on another day.
	AnyNamespace bool
	// OnlyRecorded asks each recorded cluster only for the resources that were recorded there.
	OnlyRecorded bool
}

// NamesNamespaces reports whether the command line says in which namespaces to look. Otherwise the context of each cluster does.
func (s Selection) NamesNamespaces() bool {
	return s.Request.AllNamespaces || s.Request.SelectsNamespaces() || len(s.Request.Namespaces) > 0
}

// CheckFixedNamespaces refuses a choice of namespaces by pattern or label, for a feature that needs to know the namespaces at the
// start.
func (s Selection) CheckFixedNamespaces(feature string) error {
	if s.Request.SelectsNamespaces() {
		return fmt.Errorf("%s cannot be combined with %s yet: name the namespaces, or use -A", feature, s.Request.NamespaceFlag())
	}
	return nil
}

// IsTwoNamespaces reports whether exactly two namespaces are named.
func (s Selection) IsTwoNamespaces() bool {
	r := s.Request
	return !r.AllNamespaces && !r.SelectsNamespaces() && len(r.Namespaces) == 2
}

// WithShard returns s with the number of the shard, which --shard auto takes from the name of the host.
func (s Selection) WithShard() (Selection, error) {
	if s.Request.Shard.Number > 0 || s.Request.Shard.Count == 0 {
		return s, nil
	}
	host, err := os.Hostname()
	if err != nil {
		return s, fail.Usage(fmt.Errorf("--shard %s/%d: %w", flags.AutoShard, s.Request.Shard.Count, err))
	}
	ordinal, is := flags.PodOrdinal(host)
	if !is {
		return s, fail.Usage(fmt.Errorf("--shard %s/%d takes the number at the end of the host's name, as pods of a StatefulSet have it, and this is %s: say which one it is, --shard 1/%[2]d", flags.AutoShard, s.Request.Shard.Count, output.EscapeLine(host)))
	}
	s.Request.Shard.Number = ordinal + 1
	return s, nil
}

// CheckRecording reports why --record cannot be combined with the rest of c.
func (c *Config) CheckRecording() error {
	switch {
	case c.Recording.Dir == "":
		return nil
	case c.StateFile != "":
		return errors.New("--record and --state may continue from different places: run dwatch record as a process of its own")
	case c.Selection.Object != nil:
		return errors.New("--for drops some of the watched objects, and a recording needs all of them: it cannot be combined with --record")
	}
	return c.Selection.CheckFixedNamespaces("--record")
}

// Conditions are all expressions that the run evaluates.
func (c *Config) Conditions() []flags.Condition {
	return slices.Concat(c.Where, c.Ending.AllConditions())
}

// JudgesStates reports whether the run depends on the states of objects, whatever its destination is.
func (c *Config) JudgesStates() bool {
	return c.Settle.IsSet() || slices.ContainsFunc(c.Conditions(), func(one flags.Condition) bool { return one.Requirements().Status })
}

// AsksPast reports whether --since or --before is given.
func (c *Config) AsksPast() bool { return !c.Past.Since.IsZero() || c.OnlyPast() }

// OnlyPast reports whether --before is given: the run ends with the last change before that time.
func (c *Config) OnlyPast() bool { return !c.Past.Before.IsZero() }

// IsFiltered reports whether some events are left out.
func (c *Config) IsFiltered() bool {
	return c.Filter.WatchOnly || len(c.Filter.Types) > 0 || len(c.Where) > 0
}

// PrintsOld reports whether the output contains the previous state or is derived from it.
func (c *Config) PrintsOld() bool { return c.Print.Old || c.Print.Changes || c.Print.Patch }

func (c *Config) settleOptions() settle.Options {
	return settle.Options{QuietPeriod: c.Settle.Quiet, MaxWait: c.Settle.Max, Compare: c.Print.Compare}
}

// HeartbeatEvery is how often the run needs a heartbeat. Zero means never.
func (c *Config) HeartbeatEvery() time.Duration {
	if c.Settle.IsSet() { // settle measures time by heartbeats
		o := c.settleOptions()
		return o.HeartbeatInterval()
	}
	return c.Heartbeat
}

// Required adds to what a destination requires what the stages of the run read.
func (c *Config) Required(r Requirements) Requirements {
	for _, condition := range c.Conditions() {
		r.Old = r.Old || condition.Requirements().Old
		r.ManagedFields = r.ManagedFields || condition.Requirements().ManagedFields
		r.WholeObjects = true
	}
	r.Old = r.Old || c.Settle.IsSet()
	r.WholeObjects = r.WholeObjects || c.Selection.Object != nil
	r.ManagedFields = r.ManagedFields || c.AsksPast() || c.Recording.Tee
	if t := c.Print.Template; t != nil {
		r.ManagedFields = r.ManagedFields || t.MayRead("metadata", "managedFields")
	}
	return r
}
