package expression

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
)

// preset is the expression that a name stands for.
type preset struct {
	forEvents string
	// forObjectsOnly is the expression for current objects. If empty, forEvents is used.
	forObjectsOnly string
	// describesState is set if forEvents needs only one state of an object.
	describesState bool
}

// forObjects returns the expression for current objects.
func (p preset) forObjects() string { return cmp.Or(p.forObjectsOnly, p.forEvents) }

// presets are the named conditions. evicted and unready must match only the event in which the
// state begins, so they compare with the old state.
var presets = map[string]preset{
	"changed":   {forEvents: "!initial && (type != 'MODIFIED' || changes.size() > 0)"},
	"config":    {forEvents: "object.kind in ['ConfigMap', 'Secret'] && (changed('data') || changed('binaryData')) || changed('spec..env') || changed('spec..envFrom') || changed('spec..command') || changed('spec..args')"},
	"deleted":   {forEvents: "type == 'DELETED'"},
	"evicted":   {forEvents: "type != 'DELETED' && evicted(object) && !(type == 'MODIFIED' && evicted(old))", forObjectsOnly: "evicted(object)"},
	"failed":    {forEvents: "type != 'DELETED' && status(object) == 'Failed'", describesState: true},
	"manual":    {forEvents: "managers.exists(m, m.matches('^(kubectl|oc|k9s)(-|$)'))"},
	"newimage":  {forEvents: "changed('spec..image')"},
	"ready":     {forEvents: "type != 'DELETED' && ready(object)", describesState: true},
	"restarted": {forEvents: "type == 'MODIFIED' && restarts(old, object) > 0", forObjectsOnly: "restarts(object) > 0"},
	"scaled":    {forEvents: "changed('spec.replicas')"},
	"unready":   {forEvents: "type == 'MODIFIED' && !unready(old) && unready(object) && status(object) != 'Terminating'", forObjectsOnly: "unready(object)"},
}

// tokens matches identifiers in its only group. The other alternatives come first and match the places in which a name is
// not a preset: strings, comments, names in backquotes, fields and functions.
var tokens = regexp.MustCompile("(?s)" + strings.Join([]string{
	`(?i:r|br|rb)(?:\"\"\".*?\"\"\"|'''.*?'''|"[^"]*"|'[^']*')`,
	`"""(?:\\.|[^\\])*?"""|'''(?:\\.|[^\\])*?'''|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'`,
	"`[^`]*`", `//[^\n]*`, `\.\s*\??\s*\w+`, `\w+\s*\(`, `(\w+)`,
}, "|"))

// presetsIn returns the presets in an expression, with duplicates.
func presetsIn(text string) (found []string) {
	replacePresets(text, func(name string) string {
		found = append(found, name)
		return name
	})
	return found
}

// replacePresets replaces each preset in an expression by the result of with.
func replacePresets(text string, with func(name string) string) string {
	var b strings.Builder
	end := 0
	for _, at := range tokens.FindAllStringSubmatchIndex(text, -1) {
		if at[2] < 0 {
			continue
		}
		name := text[at[2]:at[3]]
		if _, found := presets[name]; found {
			b.WriteString(text[end:at[2]] + with(name))
			end = at[3]
		}
	}
	return b.String() + text[end:]
}

// compileExpanded replaces the presets in an expression and compiles it again. issues are from the first attempt. If
// they contain anything other than the unknown names of presets, the most important one is returned.
func (x *Expression) compileExpanded(e *environment, issues []*cel.Error, expand func(preset) string) error {
	others := slices.DeleteFunc(slices.Clone(issues), func(i *cel.Error) bool {
		name := regexp.MustCompile(undeclared).FindStringSubmatch(i.Message)
		return name != nil && slices.Contains(Presets(), name[1])
	})
	if len(others) > 0 {
		return explain(others)
	}
	x.text = replacePresets(x.text, func(name string) string { return "(" + expand(presets[name]) + ")" })
	x.expanded = true
	if len([]rune(x.text)) > maxText {
		return &Error{Message: fmt.Sprintf("with its words expanded, the expression is longer than %d characters", maxText)}
	}
	var failed *cel.Issues
	if x.ast, failed = e.Compile(x.text); failed.Err() != nil {
		return &Error{Message: explain(failed.Errors()).Message}
	}
	return nil
}

// Presets returns the names that stand for conditions, sorted.
func Presets() []string { return slices.Sorted(maps.Keys(presets)) }

// StatePresets returns the presets that [Compile] evaluates with one state of an object, sorted. The others describe a change.
func StatePresets() []string {
	return slices.DeleteFunc(Presets(), func(name string) bool { return !presets[name].describesState })
}

// presetsForObjects returns the presets that [CompileForObjects] accepts and that an existing object can match.
func presetsForObjects() []string {
	return slices.DeleteFunc(Presets(), func(name string) bool {
		p := presets[name]
		return !p.describesState && p.forObjectsOnly == ""
	})
}
