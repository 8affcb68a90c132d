package page

import (
	"encoding/json"
	"strings"
)

// encode returns a value as JSON.
func encode(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // the tests have no such values
	}
	return string(text)
}

// decode returns text with JSON escapes replaced. Its quotes need no escapes.
func decode(text string) string {
	var decoded string
	if err := json.Unmarshal([]byte(`"`+strings.ReplaceAll(text, `"`, `\"`)+`"`), &decoded); err != nil {
		panic(err)
	}
	return decoded
}
