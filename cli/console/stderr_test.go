package console

import (
	"bytes"
	"fmt"
	"regexp"
	"testing"
	"time"
)

// TestStderr checks dated lines and --log json: each line begins with the time at which its first byte was written.
func TestStderr(t *testing.T) {
	for name, c := range map[string]struct {
		write func(*Stderr)
		want  string
	}{
		"not dated": {func(t *Stderr) { fmt.Fprint(t, "a\nb\n") }, `^a\nb\n$`},
		"lines":     {func(t *Stderr) { t.Date(true); fmt.Fprint(t, "a\n\nb\n") }, `^TIME a\nTIME \nTIME b\n$`},
		"in parts":  {func(t *Stderr) { t.Date(true); fmt.Fprint(t, "a"); fmt.Fprint(t, "b\nc"); fmt.Fprint(t, "\n") }, `^TIME ab\nTIME c\n$`},
		"said before": {func(t *Stderr) { t.Date(true); t.as(levelInfo).writeAt(time.Unix(0, 0).UTC(), []byte("a\n")) },
			`^` + regexp.QuoteMeta(time.Unix(0, 0).Format("2006-01-02T15:04:05.000-07:00")) + ` a\n$`},
		"JSON, unended": {func(t *Stderr) {
			t.useJSON()
			v := t.as(levelDebug)
			fmt.Fprint(v, "a\nb")
			fmt.Fprint(v, "c")
			v.flush()
			v.flush()
		}, `^\{"time":"[^"]+","level":"debug","message":"a"\}\n\{"time":"[^"]+","level":"debug","message":"bc"\}\n$`},
		"JSON, unsafe": {func(t *Stderr) {
			t.useJSON()
			fmt.Fprint(t.as(levelDebug).forCluster("prod\u202e"), "a\u009b2J\u200b\x1b\n")
		}, `^\{"time":"[^"]+","level":"debug","cluster":"prod\\u202e","message":"a\\u009b2J\\u200b\\u001b"\}\n$`},
		"JSON, without end": {func(t *Stderr) {
			t.useJSON()
			v := t.as(levelDebug)
			for range maxRest {
				fmt.Fprint(v, "a")
			}
		}, `^\{"time":"[^"]+","level":"debug","message":"a+"\}\n$`},
		"an error": {func(t *Stderr) { t.Date(true); t.Error([]string{"no"}) }, `^TIME error: no\n$`},
	} {
		var out bytes.Buffer
		c.write(&Stderr{w: &out})
		want := regexp.MustCompile(regexp.MustCompile("TIME").ReplaceAllString(c.want, `\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d`))
		if !want.MatchString(out.String()) {
			t.Errorf("%s: %q, want %s", name, out.String(), want)
		}
	}
}
