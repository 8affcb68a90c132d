package cli

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"testing"
	"time"

	"dwatch/cli/fail"
)

// TestTalk: each line begins with the time at which it began, of a run that goes on, and also the error that it
// ends with, but not what is wrong with the command line.
func TestTalk(t *testing.T) {
	for name, c := range map[string]struct {
		write func(*stderrLog)
		want  string
	}{
		"not dated": {func(t *stderrLog) { fmt.Fprint(t, "a\nb\n") }, `^a\nb\n$`},
		"lines":     {func(t *stderrLog) { t.date(true); fmt.Fprint(t, "a\n\nb\n") }, `^TIME a\nTIME \nTIME b\n$`},
		"in parts":  {func(t *stderrLog) { t.date(true); fmt.Fprint(t, "a"); fmt.Fprint(t, "b\nc"); fmt.Fprint(t, "\n") }, `^TIME ab\nTIME c\n$`},
		"said before": {func(t *stderrLog) { t.date(true); t.as(levelInfo).writeAt(time.Unix(0, 0).UTC(), []byte("a\n")) },
			`^` + regexp.QuoteMeta(time.Unix(0, 0).Format("2006-01-02T15:04:05.000-07:00")) + ` a\n$`},
		"JSON, unended": {func(t *stderrLog) {
			t.toJSON()
			v := t.as(levelDebug)
			fmt.Fprint(v, "a\nb")
			fmt.Fprint(v, "c")
			v.end()
			v.end()
		}, `^\{"time":"[^"]+","level":"debug","message":"a"\}\n\{"time":"[^"]+","level":"debug","message":"bc"\}\n$`},
		"JSON, unsafe": {func(t *stderrLog) {
			t.toJSON()
			fmt.Fprint(t.as(levelDebug).of("prod\u202e"), "a\u009b2J\u200b\x1b\n")
		}, `^\{"time":"[^"]+","level":"debug","cluster":"prod\\u202e","message":"a\\u009b2J\\u200b\\u001b"\}\n$`},
		"JSON, without end": {func(t *stderrLog) {
			t.toJSON()
			v := t.as(levelDebug)
			for range maxRest {
				fmt.Fprint(v, "a")
			}
		}, `^\{"time":"[^"]+","level":"debug","message":"a+"\}\n$`},
		"an error":    {func(t *stderrLog) { t.date(true); sayEnd(t, errors.New("no")) }, `^TIME error: no\n$`},
		"wrong usage": {func(t *stderrLog) { t.date(true); sayEnd(t, fail.Usage(errors.New("no"))) }, `^error: no\n$`},
	} {
		var out bytes.Buffer
		c.write(&stderrLog{w: &out})
		want := regexp.MustCompile(regexp.MustCompile("TIME").ReplaceAllString(c.want, `\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d`))
		if !want.MatchString(out.String()) {
			t.Errorf("%s: %q, want %s", name, out.String(), want)
		}
	}
}
