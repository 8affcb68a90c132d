package expression

import (
	"maps"
	"slices"
)

// word is one that people say, and the expressions for which it stands.
type word struct {
	ofEvents string
	// ofObjects is for objects as they are; empty: the one for events.
	ofObjects string
}

// words are the whole expressions that are one word. What is done once holds of one event:
// so those that are of a state compare with the one before.
var words = map[string]word{
	"changed":   {ofEvents: "!initial && (type != 'MODIFIED' || changes.size() > 0)"},
	"config":    {ofEvents: "object.kind in ['ConfigMap', 'Secret'] && (changed('data') || changed('binaryData')) || changed('spec..env') || changed('spec..envFrom') || changed('spec..command') || changed('spec..args')"},
	"deleted":   {ofEvents: "type == 'DELETED'"},
	"evicted":   {ofEvents: "type != 'DELETED' && evicted(object) && !(type == 'MODIFIED' && evicted(old))", ofObjects: "evicted(object)"},
	"failed":    {ofEvents: "type != 'DELETED' && status(object) == 'Failed'"},
	"manual":    {ofEvents: "managers.exists(m, m.matches('^(kubectl|oc|k9s)(-|$)'))"},
	"newimage":  {ofEvents: "changed('spec..image')"},
	"ready":     {ofEvents: "type != 'DELETED' && ready(object)"},
	"restarted": {ofEvents: "restarts(old, object) > 0", ofObjects: "restarts(object) > 0"},
	"scaled":    {ofEvents: "changed('spec.replicas')"},
	"unready":   {ofEvents: "!unready(old) && unready(object) && status(object) != 'Terminating'", ofObjects: "unready(object)"},
}

// Presets returns the words that are expressions as they stand, sorted.
func Presets() []string { return slices.Sorted(maps.Keys(words)) }

// presetsForObjects are those that mean something of objects as they are.
func presetsForObjects() []string {
	return slices.DeleteFunc(Presets(), func(name string) bool {
		w := words[name]
		if w.ofObjects != "" {
			return false
		}
		x, err := Compile(w.ofEvents)
		return err != nil || x.Needs().Old || x.Needs().Changes || name == "deleted"
	})
}
