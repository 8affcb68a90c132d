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

// Options configure how expressions evaluate events.
type Options struct {
	// Compare selects the changes that changes and changed() report. Its masks are ignored,
	// so that expressions are evaluated on the real values.
	Compare change.Options
	// Digests evaluates changed() for events that have digests of the old state instead of
	// its content. If nil, changed() does not match such events.
	Digests *change.Digester
	// Now is the clock of now() and age(). nil means time.Now.
	Now func() time.Time
}

// Input is an event prepared for expressions. It caches decoded objects and changes, so that
// several expressions can share them. It is not safe for concurrent use.
type Input struct {
	event         event.Event
	options       Options
	object, old   state
	compared      *comparison
	now           time.Time
	oldMissing    bool // the current evaluation read an unknown old state
	lacksOldState bool
}

// NewInput returns an Input for e. Only object events can be evaluated.
func NewInput(e event.Event, o Options) *Input {
	in := &Input{options: o}
	in.Reset(e)
	return in
}

// Reset replaces the event, so that a caller with many events can reuse one Input.
func (in *Input) Reset(e event.Event) {
	*in = Input{event: e, options: in.options, object: state{object: e.Object}, old: state{object: e.Old}}
}

// Variables of expressions, which ResolveName resolves. Names with @ cannot be used in the
// text of an expression, not even as variables of macros such as exists().
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

// ResolveName implements interpreter.Activation.
func (in *Input) ResolveName(name string) (any, bool) {
	switch name {
	case typeVariable:
		return types.String(in.event.Type), true
	case objectVariable:
		return in.object.value(), true
	case oldVariable:
		in.oldMissing = in.event.Type == event.Modified && in.old.object.IsZero()
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
		return types.Timestamp{Time: in.currentTime()}, true
	}
	return nil, false
}

// DependsOnTime reports whether an evaluation used a status that expires without a change of the object, such as that of
// a Pod in a crash loop.
func (in *Input) DependsOnTime() bool { return in.object.statusExpires || in.old.statusExpires }

// LacksOldState reports whether the last evaluation returned false because the old state of
// the object is unknown.
func (in *Input) LacksOldState() bool { return in.lacksOldState }

// Parent implements interpreter.Activation.
func (in *Input) Parent() interpreter.Activation { return nil }

// currentTime returns the value of now(), which is the same for all expressions that share the Input.
func (in *Input) currentTime() time.Time {
	if in.now.IsZero() {
		if in.now = time.Now(); in.options.Now != nil {
			in.now = in.options.Now()
		}
	}
	return in.now
}

// state is the object or the old object of an event, in the forms in which expressions used it.
type state struct {
	object event.Object
	raw    string
	lazy   *lazyMap

	whole         *unstructured.Unstructured
	wholeErr      error
	statusWord    kstatus.Status
	statusExpires bool // word ends by itself
}

// value returns the object as a CEL value. It is null if the event has no such object.
func (s *state) value() ref.Val {
	if s.object.IsZero() {
		return types.NullValue
	}
	if s.lazy == nil {
		s.lazy = newLazyMap(s.text(), 0, s)
	}
	return s.lazy
}

// text returns the object as JSON without leading or trailing space.
func (s *state) text() string {
	if s.raw == "" {
		s.raw = strings.TrimSpace(s.object.Raw()) // Raw may have to load the content
	}
	return s.raw
}

// decodeWhole decodes the complete object. The caller must not change the result.
func (s *state) decodeWhole() (*unstructured.Unstructured, error) {
	if s.whole == nil && s.wholeErr == nil {
		s.whole = &unstructured.Unstructured{}
		s.wholeErr = s.whole.UnmarshalJSON([]byte(s.text()))
	}
	return s.whole, s.wholeErr
}

// status returns the status of the object according to kstatus.
func (s *state) status() (kstatus.Status, error) {
	if s.statusWord == "" {
		u, err := s.decodeWhole()
		if err != nil {
			return kstatus.UnknownStatus, err
		}
		now := status.Of(u)
		s.statusWord, s.statusExpires = now.Word, !now.ClearsAt.IsZero() || !now.FailsAt.IsZero()
	}
	return s.statusWord, nil
}
