package main

import (
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	o, err := parse([]string{"-n", "1000", "-rounds", "1"})
	if err != nil || o.pods != 1000 || o.rounds != 1 || o.updates != 5000 {
		t.Errorf("%+v, %v", o, err)
	}
	for _, wrong := range []string{"-n=1", "-rounds=-1", "-without=curl", "-updates=1", "-rate=0", "-paced=0", "-starts=0", "extra"} {
		if _, err := parse([]string{wrong}); err == nil {
			t.Errorf("parse(%s) returned no error", wrong)
		}
	}
}

func TestPercentile(t *testing.T) {
	tests := []struct {
		values []float64
		p      float64
		want   float64
	}{
		{[]float64{7}, 99, 7},
		{[]float64{3, 1, 2}, 50, 2},
		{[]float64{4, 1, 3, 2}, 50, 2.5},
		{[]float64{5, 1}, 0, 1},
		{[]float64{5, 1}, 100, 5},
		{[]float64{0, 100}, 99, 99},
	}
	for _, test := range tests {
		if got := percentile(test.values, test.p); math.Abs(got-test.want) > 1e-9 {
			t.Errorf("p%g of %v: got %g, want %g", test.p, test.values, got, test.want)
		}
	}
	if got := percentile(nil, 50); !math.IsNaN(got) {
		t.Errorf("got %g without values, want NaN", got)
	}
	values := []float64{2, 1}
	percentile(values, 50)
	if !cmp.Equal(values, []float64{2, 1}) {
		t.Errorf("percentile changed its argument: %v", values)
	}
}

func TestFormat(t *testing.T) {
	tests := []struct{ got, want string }{
		{seconds(12.34), "12.3 s"},
		{seconds(0.0234), "23.4 ms"},
		{seconds(51.9e-6), "51.9 µs"},
		{seconds(0), "0.00 µs"},
		{megabytes(2_600_400_000), "2600 MB"},
		{megabytes(11_200_000), "11.2 MB"},
		{megabytes(40), "40 B"},
		{significant(0.0213, 2), "0.021"},
		{significant(0.253, 2), "0.25"},
		{significant(1.05, 3), "1.05"},
		{significant(123.4, 2), "123"},
		{count(20000.4), "20,000"},
		{thousands(999), "999"},
		{thousands(1234567), "1,234,567"},
	}
	for _, test := range tests {
		if test.got != test.want {
			t.Errorf("got %q, want %q", test.got, test.want)
		}
	}
}

// measured returns results with some values.
func measured() results {
	found := results{}
	for _, value := range []float64{3, 1, 2} {
		found.add(dwatchName, allOut, value)
		found.add(before(dwatchName), allOut, 2*value)
		found.add(kubectlName, allOut, 4*value)
		found.add(curlName, allOut, value/2)
	}
	found.add(dwatchName, churnSeen, 5000)
	found.add(kubectlName, churnSeen, 5000)
	found.add(dwatchListName, syncCPU, 1)
	found.add(tableName, syncCPU, 1)
	found.add(kubectlTableName, syncCPU, 4)
	found.add(kubectlName, syncCPU, 100)
	return found
}

// TestTables checks that each subject has a table with the contenders that have results, and with ratios to the program
// with the same output. Tables and ratios without values are left out.
func TestTables(t *testing.T) {
	text := measured().tables(options{pods: 20000, updates: 5000, rate: 200})
	got := strings.Split(regexp.MustCompile(` +`).ReplaceAllString(regexp.MustCompile(`(?m)^\|-.*\n`).ReplaceAllString(text, ""), " "), "\n")
	want := []string{
		"**Time until all 20,000 pods are out**",
		"",
		"| | first out | all out | / kubectl | / curl | / before | bytes out |",
		"| dwatch | | 2.00 s | 0.25 | 2.0 | 0.50 | |",
		"| before | | 4.00 s | | | | |",
		"| kubectl | | 8.00 s | | | | |",
		"| curl | | 1.00 s | | | | |",
		"",
		"**CPU**",
		"",
		"| | until all are out | / kubectl | for an update |",
		"| dwatch list | 1.00 s | 0.010 | |",
		"| dwatch -o table | 1.00 s | 0.25 | |",
		"| kubectl | 100 s | | |",
		"| kubectl table | 4.00 s | | |",
		"",
		"**Updates**",
		"",
		"| | seen of 5,000 at full speed | a second | latency at 200/s, median | p99 | to a viewer, each |",
		"| dwatch | 5,000 | | | | |",
		"| kubectl | 5,000 | | | | |",
		"",
		"",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s\n%s", diff, text)
	}
}

// TestTablesAreNarrow checks that tables with all columns, including the ratios to an older dwatch, are not too wide.
func TestTablesAreNarrow(t *testing.T) {
	found := results{}
	for _, name := range tableOrder() {
		for m := range sentRate {
			found.add(name, m, 1)
		}
	}
	for line := range strings.Lines(found.tables(options{pods: 20000, updates: 5000, rate: 200})) {
		if columns := strings.Count(line, "|") - 1; columns > 8 {
			t.Errorf("got %d columns, want at most 8: %s", columns, line)
		}
	}
}

// TestDialect checks the command lines of a dwatch with commands, and of an older one with flags instead.
func TestDialect(t *testing.T) {
	for _, test := range []struct {
		commands bool
		got      func(dialect) []string
		want     string
	}{
		{true, func(d dialect) []string { return d.list("pods", "-A") }, "dw list pods -A"},
		{false, func(d dialect) []string { return d.list("pods", "-A") }, "dw pods -A --list"},
		{true, func(d dialect) []string { return d.serve("pods") }, "dw serve pods"},
		{false, func(d dialect) []string { return d.serve("pods") }, "dw pods -o none --serve"},
		{true, func(d dialect) []string { return d.send("pods", "--", "true") }, "dw send pods -- true"},
		{false, func(d dialect) []string { return d.send("pods", "--", "true") }, "dw pods -- true"},
		{true, func(d dialect) []string { return d.stream("pods") }, "dw pods"},
	} {
		if got := strings.Join(test.got(dialect{"dw", test.commands}), " "); got != test.want {
			t.Errorf("got %s, want %s", got, test.want)
		}
	}
}

// TestPageMessage checks that there is one line for each new object and one for each change.
func TestPageMessage(t *testing.T) {
	known := map[string]bool{}
	for _, step := range []struct{ message, want string }{
		{`{"type":"hello"}`, ""},
		{`{"type":"snapshot","rows":[{"key":"pods/a"},{"key":"pods/b"}]}`, "row pods/a\nrow pods/b\n"},
		{`{"type":"change","event":"ADDED","key":"pods/b"}`, ""},
		{`{"type":"change","event":"ADDED","key":"pods/c"}`, "row pods/c\n"},
		{`{"type":"change","event":"MODIFIED","key":"pods/c","changes":[{"new":"1700000000000000001"}]}`, `{"type":"change","event":"MODIFIED","key":"pods/c","changes":[{"new":"1700000000000000001"}]}` + "\n"},
	} {
		got := pageMessage([]byte(step.message), known)
		if string(got) != step.want {
			t.Errorf("%s: got %q, want %q", step.message, got, step.want)
		}
		if strings.Contains(step.message, "MODIFIED") {
			if at, err := pageLines.writtenAt(got); err != nil || !at.Equal(time.Unix(1_700_000_000, 1)) {
				t.Errorf("got time %v, %v", at, err)
			}
		}
	}
}

func TestLightPods(t *testing.T) {
	for pods, want := range map[int]int{2: 1, 20: 2, 1000: 100, 100000: 100} {
		if got := lightPods(pods); got != want {
			t.Errorf("got %d small pods of %d, want %d", got, pods, want)
		}
	}
}

func TestMarkdown(t *testing.T) {
	got := markdown([][]string{{"", "dwatch"}, {"CPU", "12 µs"}, {"memory", ""}})
	want := `|        | dwatch |
|--------|-------:|
| CPU    |  12 µs |
| memory |        |
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestParseStatus(t *testing.T) {
	got, err := parseStatus("Name:\tdwatch\nVmPeak:\t 9999 kB\nVmHWM:\t    1024 kB\nVmRSS:\t     512 kB\nRssFile:\t     256 kB\nThreads:\t7\n")
	if want := (memory{peak: 1 << 20, now: 1 << 19, binary: 1 << 18}); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	for _, wrong := range []string{"", "Name:\tzombie\nState:\tZ (zombie)\n", "\nVmHWM:\tmuch\nVmRSS:\t 1 kB\nRssFile:\t 1 kB\n"} {
		if _, err := parseStatus(wrong); err == nil {
			t.Errorf("%q is no error", wrong)
		}
	}
}

func TestParseIO(t *testing.T) {
	if got, err := parseIO("rchar: 1234\nwchar: 5\n"); err != nil || got != 1234 {
		t.Errorf("%d, %v", got, err)
	}
	for _, wrong := range []string{"", "wchar: 5\nrchar: 1\n", "rchar: much\n"} {
		if _, err := parseIO(wrong); err == nil {
			t.Errorf("%q is no error", wrong)
		}
	}
}

// TestShardTables checks that there is a row for each number of shards of each server, with ratios to no shards.
func TestShardTables(t *testing.T) {
	found := results{}
	if got := found.shards(options{}); got != "" {
		t.Errorf("got a table without results: %s", got)
	}
	for _, server := range shardServers {
		for _, n := range shardCounts {
			for _, m := range []metric{allOut, syncCPU, bytesRead, churnCPU, churnRead, onePeak, churnPeak} {
				found.add(shardsName(server.name, n), m, 8e6/float64(n))
			}
		}
	}
	got := found.shards(options{updates: 5000})
	for _, want := range []string{"| server selects, no shards ", "| server sends all, 4 shards ", "| 2.00 MB | 0.25 |", "5,000 updates"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
}

func TestParseStat(t *testing.T) {
	got, err := parseStat("cpu  1 2 4 1000 1000 8 16 32 64 128\ncpu0 1 2 4 1000\n")
	if want := 630 * time.Millisecond; err != nil || got != want {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	for _, wrong := range []string{"", "cpu 1 2 3\n", "intr 1 2 3 4 5 6 7 8 9\n", "cpu 1 2 3 4 5 6 7 x\n"} {
		if _, err := parseStat(wrong); err == nil {
			t.Errorf("%q is no error", wrong)
		}
	}
}

func TestWrittenAt(t *testing.T) {
	for line, of := range map[string]lineFormat{
		`{"type":"MODIFIED","object":{"metadata":{"managedFields":[{"f:dwatch.test/written-at":{}}],"annotations":{"dwatch.test/written-at":"1700000000000000001"}}}}`: jsonLines,
		"09:00:00 ~ default po/a  metadata.annotations[dwatch.test/written-at]  1600000000000000001 → 1700000000000000001  cluster\n":                                  changeLines,
		`09:00:00 ~ default po/a  metadata.annotations  + {"dwatch.test/written-at":"1700000000000000001"}  cluster`:                                                   changeLines,
	} {
		got, err := of.writtenAt([]byte(line))
		if err != nil || !got.Equal(time.Unix(1_700_000_000, 1)) || !of.isEvent([]byte(line)) {
			t.Errorf("got %v, %v: %s", got, err, line)
		}
	}
	for _, wrong := range []string{"", `{"f:dwatch.test/written-at":{}}`, `"dwatch.test/written-at":"now"`} {
		for _, of := range []lineFormat{jsonLines, changeLines} {
			if _, err := of.writtenAt([]byte(wrong)); err == nil {
				t.Errorf("%q is no error", wrong)
			}
		}
	}
}

func TestFirstWords(t *testing.T) {
	if got := firstWords("curl 7.88.1 (x86_64)\nFeatures: ...", 2); got != "curl 7.88.1" {
		t.Error(got)
	}
	if got := firstWords("curl", 2); got != "curl" {
		t.Error(got)
	}
}

func TestLeavesOut(t *testing.T) {
	for _, test := range []struct {
		options
		name string
		want bool
	}{
		{options{}, tableName, false},
		{options{without: kubectlName}, kubectlTableName, true},
		{options{without: kubectlName}, dwatchName, false},
		{options{without: dwatchOldName}, dwatchOldName, true},
		{options{only: tableName + "," + kubectlTableName}, kubectlTableName, false},
		{options{only: tableName + "," + kubectlTableName}, kubectlName, true},
		{options{only: tableName}, curlName, false},
	} {
		if got := test.leavesOut(test.name); got != test.want {
			t.Errorf("%+v: leavesOut(%s) is %v", test.options, test.name, got)
		}
	}
}

func TestTableLines(t *testing.T) {
	for line, want := range map[string]bool{
		"NAMESPACE   NAME   READY\n":           false,
		"EVENT   TIME   NAMESPACE   NAME\n":    false,
		"ADDED   09:00:00   default   NAMEs\n": true,
		"default   web   1/1\n":                true,
	} {
		if got := tableLines.isEvent([]byte(line)); got != want {
			t.Errorf("isEvent is %v: %s", got, line)
		}
	}
}

// TestPaired checks that ratios are computed for each turn, because load affects both values of a turn.
func TestPaired(t *testing.T) {
	found := results{}
	for i, slow := range []float64{1, 10, 100} {
		found.add(commandName, sentRate, (2+float64(i))/slow)
		found.add(shellName, sentRate, 1/slow)
	}
	if got := found.paired(commandName, shellName, sentRate); math.Abs(got-3) > 1e-9 {
		t.Errorf("got ratio %v, want 3", got)
	}
	if got := found.paired(commandName, postName, sentRate); !math.IsNaN(got) {
		t.Errorf("got %v without values, want NaN", got)
	}
}
