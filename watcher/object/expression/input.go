package expression

import (
	"strings"
	"time"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/interpreter"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
	"dwatch/watcher/object/status"
)

// Options say how events are looked at.
type Options struct {
	// Compare says which changes count. Its masks do not: expressions decide by what
	// is true.
	Compare change.Options
	// Digests answer what changed() asks by the digests of an event, where it has no more of the state
	// before; nil: that is not known.
	Digests *change.Digester
	// Now is the clock of now() and age(); nil means time.Now.
	Now func() time.Time
}

// Input is an event as expressions see it: any number of them, one after the other.
type Input struct {
	event       event.Event
	options     Options
	object, old state
	compared    *comparison
	now         time.Time
	lacksOld    bool // it was looked for
	unknown     bool
}

// NewInput returns e, which reports an object, for expressions.
func NewInput(e event.Event, o Options) *Input {
	in := &Input{options: o}
	in.Reset(e)
	return in
}

// Take has the Input be another event: who looks at many needs no more than one.
func (in *Input) Reset(e event.Event) {
	*in = Input{event: e, options: in.options, object: state{object: e.Object}, old: state{object: e.Old}}
}

// The names by which expressions find what is in an Input. A name with @ cannot be
// written, nor taken by a variable of exists() and its like.
const (
	typeVariable       = "type"
	objectVariable     = "object"
	oldVariable        = "old"
	changesVariable    = "changes"
	managersVariable   = "managers"
	timeVariable       = "time"
	initialVariable    = "initial"
	clusterVariable    = "cluster"
	comparisonVariable = "@comparison"
	nowVariable        = "@now"
)

func (in *Input) ResolveName(name string) (any, bool) {
	switch name {
	case typeVariable:
		return types.String(in.event.Type), true
	case objectVariable:
		return in.object.value(), true
	case oldVariable:
		in.lacksOld = in.event.Type == event.Modified && in.old.object.IsZero()
		return in.old.value(), true
	case changesVariable:
		return in.changes(), true
	case managersVariable:
		return in.managers(), true
	case comparisonVariable:
		return in.comparison(), true
	case timeVariable:
		return types.Timestamp{Time: in.event.Time}, true
	case initialVariable:
		return types.Bool(in.event.Initial), true
	case clusterVariable:
		return types.String(in.event.Target.Cluster), true
	case nowVariable:
		return types.Timestamp{Time: in.clock()}, true
	}
	return nil, false
}

// DependsOnTime reports whether an evaluation used a state that ends without a change of the object, as that of a pod in
// a crash loop does.
func (in *Input) DependsOnTime() bool { return in.object.timed || in.old.timed }

// IsUnknown reports whether the last expression that looked at the Input does not hold only
// because the state before is not known.
func (in *Input) LacksOldState() bool { return in.unknown }

func (in *Input) Parent() interpreter.Activation { return nil }

// clock is the same for all that looks at one event.
func (in *Input) clock() time.Time {
	if in.now.IsZero() {
		if in.now = time.Now(); in.options.Now != nil {
			in.now = in.options.Now()
		}
	}
	return in.now
}

// state is an object of the event, in as many forms as were asked for.
type state struct {
	object event.Object
	raw    string
	lazy   *lazyMap

	opened *unstructured.Unstructured
	err    error
	word   kstatus.Status
	timed  bool // word ends by itself
}

// value returns the object for CEL; null if there is none.
func (s *state) value() ref.Val {
	if s.object.IsZero() {
		return types.NullValue
	}
	if s.lazy == nil {
		s.lazy = newLazyMap(s.text(), 0, s)
	}
	return s.lazy
}

// text returns the object as JSON, from its brace on.
func (s *state) text() string {
	if s.raw == "" {
		s.raw = strings.TrimSpace(s.object.Raw()) // which may take time
	}
	return s.raw
}

// open returns the object decoded as a whole. It is not to be changed.
func (s *state) open() (*unstructured.Unstructured, error) {
	if s.opened == nil && s.err == nil {
		s.opened = &unstructured.Unstructured{}
		s.err = s.opened.UnmarshalJSON([]byte(s.text()))
	}
	return s.opened, s.err
}

// status returns the word of kstatus for the object.
func (s *state) status() (kstatus.Status, error) {
	if s.word == "" {
		u, err := s.open()
		if err != nil {
			return kstatus.UnknownStatus, err
		}
		is := status.Of(u)
		s.word, s.timed = is.Word, !is.ClearsAt.IsZero()
	}
	return s.word, nil
}
