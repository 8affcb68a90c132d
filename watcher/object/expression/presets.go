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

// word is one that people say, and the expressions for which it stands.
type word struct {
	ofEvents string
	// ofObjects is for objects as they are; empty: the one for events.
	ofObjects string
}

// forObjects is the expression for objects as they are.
func (w word) forObjects() string { return cmp.Or(w.ofObjects, w.ofEvents) }

// words stand for conditions. What is done once holds of one event:
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
	"restarted": {ofEvents: "type == 'MODIFIED' && restarts(old, object) > 0", ofObjects: "restarts(object) > 0"},
	"scaled":    {ofEvents: "changed('spec.replicas')"},
	"unready":   {ofEvents: "type == 'MODIFIED' && !unready(old) && unready(object) && status(object) != 'Terminating'", ofObjects: "unready(object)"},
}

// part finds in an expression what may hold a word and is none, which comes first: texts, comments, names in
// backquotes, fields and functions; and names.
var part = regexp.MustCompile("(?s)" + strings.Join([]string{
	`(?i:r|br|rb)(?:\"\"\".*?\"\"\"|'''.*?'''|"[^"]*"|'[^']*')`,
	`"""(?:\\.|[^\\])*?"""|'''(?:\\.|[^\\])*?'''|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'`,
	"`[^`]*`", `//[^\n]*`, `\.\s*\??\s*\w+`, `\w+\s*\(`, `(\w+)`,
}, "|"))

// wordsIn are those in an expression, each as often as it is there.
func wordsIn(text string) (found []string) {
	replaceWords(text, func(name string) string {
		found = append(found, name)
		return name
	})
	return found
}

// replaceWords puts something else in the place of each word of an expression.
func replaceWords(text string, with func(name string) string) string {
	var b strings.Builder
	end := 0
	for _, at := range part.FindAllStringSubmatchIndex(text, -1) {
		if at[2] < 0 {
			continue
		}
		name := text[at[2]:at[3]]
		if _, is := words[name]; is {
			b.WriteString(text[end:at[2]] + with(name))
			end = at[3]
		}
	}
	return b.String() + text[end:]
}

// compileWords compiles an expression in which words stand for conditions, with which CEL has issues as it is. If it
// has others than words, the first of these is returned.
func (x *Expression) compileWords(e *environment, issues []*cel.Error, stands func(word) string) error {
	others := slices.DeleteFunc(slices.Clone(issues), func(i *cel.Error) bool {
		name := regexp.MustCompile(undeclared).FindStringSubmatch(i.Message)
		return name != nil && slices.Contains(Presets(), name[1])
	})
	if len(others) > 0 {
		return explain(others)
	}
	x.text = replaceWords(x.text, func(name string) string { return "(" + stands(words[name]) + ")" })
	x.hasWord = true
	if len([]rune(x.text)) > maxText {
		return &Error{Message: fmt.Sprintf("with what its words stand for, the expression is longer than %d characters", maxText)}
	}
	var failed *cel.Issues
	if x.ast, failed = e.Compile(x.text); failed.Err() != nil {
		return &Error{Message: explain(failed.Errors()).Message}
	}
	return nil
}

// Presets returns the words that stand for conditions, sorted.
func Presets() []string { return slices.Sorted(maps.Keys(words)) }

// presetsForObjects are those that mean something of objects as they are.
func presetsForObjects() []string {
	return slices.DeleteFunc(Presets(), func(name string) bool {
		w := words[name]
		if w.ofObjects != "" {
			return false
		}
		x, err := Compile(w.ofEvents)
		return err != nil || x.Requirements().Old || x.Requirements().Changes || name == "deleted"
	})
}
