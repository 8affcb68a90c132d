package program

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"testing"
)

// serverAge matches an age or duration, also inside a cell such as "3 (5m ago)", that the server renders as text.
var serverAge = regexp.MustCompile(`\b(?:\d+[ydhms]){1,2}\b`)

// withoutAges replaces all ages in the tables of a response or a watch by the same one. Otherwise they change every
// second, and a busy machine takes longer than that to print a table.
func withoutAges(answer *http.Response) error {
	read, write := io.Pipe()
	body := answer.Body
	go func() {
		defer body.Close()
		lines := bufio.NewReader(body)
		for {
			line, err := lines.ReadBytes('\n')
			if _, failed := write.Write(lineWithoutAges(line)); failed != nil || err != nil {
				write.CloseWithError(err)
				return
			}
		}
	}()
	answer.Body, answer.ContentLength = read, -1
	answer.Header.Del("Content-Length")
	return nil
}

// lineWithoutAges replaces the ages in a line of a response: a whole list, or one event of a watch. Lines without a
// table stay as they are.
func lineWithoutAges(line []byte) []byte {
	if !bytes.Contains(line, []byte(`"kind":"Table"`)) {
		return line
	}
	var decoded map[string]any
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.UseNumber()
	if decoder.Decode(&decoded) != nil {
		return line
	}
	table := decoded
	if of, isEvent := decoded["object"].(map[string]any); isEvent {
		table = of
	}
	rows, _ := table["rows"].([]any)
	for _, row := range rows {
		cells, _ := row.(map[string]any)["cells"].([]any)
		for i, cell := range cells {
			if text, isText := cell.(string); isText {
				cells[i] = serverAge.ReplaceAllString(text, "5d")
			}
		}
	}
	text, err := json.Marshal(decoded)
	if err != nil {
		return line
	}
	return append(text, '\n')
}

func TestLineWithoutAges(t *testing.T) {
	const garbled = `{"kind":"Table",` + "\n"
	for line, want := range map[string]string{
		`{"kind":"List","rows":[{"cells":["5m"]}]}` + "\n":                                                              `{"kind":"List","rows":[{"cells":["5m"]}]}` + "\n",
		`{"kind":"Table","rows":[{"cells":["web-5m4-x","1/1","3 (70s ago)",4.50,"2y30d"],"object":{"a":"5m"}}]}` + "\n": `{"kind":"Table","rows":[{"cells":["web-5m4-x","1/1","3 (5d ago)",4.50,"5d"],"object":{"a":"5m"}}]}` + "\n",
		`{"type":"ADDED","object":{"kind":"Table","rows":[{"cells":["12s (x3 over 2m5s)"]}]}}` + "\n":                   `{"object":{"kind":"Table","rows":[{"cells":["5d (x3 over 5d)"]}]},"type":"ADDED"}` + "\n",
		garbled: garbled,
	} {
		if got := string(lineWithoutAges([]byte(line))); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
