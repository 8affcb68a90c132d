package page

import (
	"encoding/json"
	"strings"
)

// encode is a value as JSON.
func encode(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // the tests have no such values
	}
	return string(text)
}

// decode is text with the escapes of JSON replaced, and its quotes as they are.
func decode(text string) string {
	var decoded string
	if err := json.Unmarshal([]byte(`"`+strings.ReplaceAll(text, `"`, `\"`)+`"`), &decoded); err != nil {
		panic(err)
	}
	return decoded
}
