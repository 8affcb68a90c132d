package output

import (
	"strings"

	"go.yaml.in/yaml/v2"

	"dwatch/output/text"
)

// EscapeLine is text.Line.
func EscapeLine(line string) string { return text.Line(line) }

// safe escapes unsafe characters in text that is printed to a terminal.
func (o *Options) safe(printed string) string {
	if !o.Terminal {
		return printed
	}
	return text.Lines(printed)
}

// isSafe reports whether YAML can be printed without escapes.
func (o *Options) isSafe(printed []byte) bool {
	return !o.Terminal || text.Lines(string(printed)) == string(printed)
}

// marshalSafeYAML returns a value as YAML. At a terminal, unsafe characters are escaped. The YAML library escapes only those
// that YAML calls not printable.
func (o *Options) marshalSafeYAML(value any) ([]byte, error) {
	plain, err := yaml.Marshal(value)
	if err != nil || o.isSafe(plain) {
		return plain, err
	}
	// Only a double-quoted string can have escapes. The library quotes a string that has U+0080, and writes it as \x80. So each
	// unsafe character becomes U+0080 with a name, for which its escape is put in later.
	name := "u"
	for strings.Contains(string(plain), "x80"+name) {
		name += "u"
	}
	marked, err := yaml.Marshal(markUnsafe(value, name))
	return []byte(strings.NewReplacer(`\x80`+name, `\`).Replace(string(marked))), err
}

// markUnsafe returns a copy of a value in which U+0080, a name and the rest of its escape stand for each unsafe character.
func markUnsafe(value any, name string) any {
	switch v := value.(type) {
	case string:
		return text.Mark(v, "\u0080"+name)
	case map[string]any:
		marked := make(map[string]any, len(v))
		for key, value := range v {
			marked[markUnsafe(key, name).(string)] = markUnsafe(value, name)
		}
		return marked
	case []any:
		marked := make([]any, len(v))
		for i, value := range v {
			marked[i] = markUnsafe(value, name)
		}
		return marked
	case yaml.MapSlice:
		marked := make(yaml.MapSlice, len(v))
		for i, item := range v {
			marked[i] = yaml.MapItem{Key: markUnsafe(item.Key, name), Value: markUnsafe(item.Value, name)}
		}
		return marked
	}
	return value
}
