package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"dwatch/testdata/testenv"
)

// sendName is one dwatch send, which rules are compared with.
const sendName = "dwatch send"

// ruleCounts are how many rules are measured.
var ruleCounts = []int{1, 10, 50}

const (
	// ruleObjects are there, and ruleUpdates follow at ruleRate a second: of every ruleMark-th a receiver is told, by each rule.
	ruleObjects, ruleUpdates, ruleRate, ruleMark = 1000, 20000, 2000, 100
	// marked is the condition for that.
	marked = "has(object.data.mark)"
)

func rulesName(n int) string {
	if n == 1 {
		return sendName + " -f, 1 rule"
	}
	return fmt.Sprintf("%s -f, %d rules", sendName, n)
}

// rules measures rules, of a server that only sends, in this process.
func (b *bench) rules(ctx context.Context) error {
	server := httptest.NewServer(&testenv.FakeServers{Objects: ruleObjects, Updates: ruleUpdates, Rate: ruleRate, TimestampEvery: ruleMark})
	defer server.Close()
	defer server.CloseClientConnections()
	told := &markReceiver{late: make(chan float64, ruleUpdates)}
	receiver := httptest.NewServer(told)
	defer receiver.Close()
	kubeconfig, file := filepath.Join(b.dir, "rules"), filepath.Join(b.dir, "rules.yaml")
	if err := new(testenv.FakeServers).WriteKubeconfig(kubeconfig, server.URL, "c1"); err != nil {
		return err
	}
	common := []string{"-q", "--kubeconfig", kubeconfig, "--context", "c1"}
	for _, v := range b.versions {
		if err := b.told(ctx, v, told, sendName, 1, append(common, "cm", "--where", marked, "--to", receiver.URL)); err != nil {
			return err
		}
		for _, n := range ruleCounts {
			text := "apiVersion: dwatch/v1alpha1\nkind: Rules\nrules:\n"
			for i := range n {
				text += fmt.Sprintf("- {name: r%d, resources: [cm], where: %q, to: %q}\n", i, marked, receiver.URL)
			}
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				return err
			}
			if err := b.told(ctx, v, told, rulesName(n), n, append(common, "-f", file)); err != nil {
				return err
			}
		}
	}
	return nil
}

// told measures one dwatch, from the first message to a receiver to the last.
func (b *bench) told(ctx context.Context, v version, to *markReceiver, name string, rules int, args []string) error {
	name = v.named(name)
	say("%s", name)
	p, err := start(ctx, v.send(args...), b.env, false)
	if err != nil {
		return err
	}
	var began time.Duration
	var late []float64
	for range rules * ruleUpdates / ruleMark {
		select {
		case l := <-to.late:
			late = append(late, l)
		case <-time.After(churnPatience):
			return p.end(fmt.Errorf("%d of %d messages came", len(late), rules*ruleUpdates/ruleMark))
		case <-ctx.Done():
			return p.end(context.Cause(ctx))
		}
		if len(late) == 1 {
			if began, err = cpuTime(p.pid()); err != nil {
				return p.end(err)
			}
		}
	}
	ended, err := cpuTime(p.pid())
	m, failed := memoryOf(p.pid())
	if err := errors.Join(err, failed); err != nil {
		return p.end(err)
	}
	b.found.add(name, churnCPU, (ended-began).Seconds()/(ruleUpdates-ruleMark))
	b.found.add(name, churnPeak, float64(m.peak))
	b.found.add(name, latency, percentile(late, 50))
	b.found.add(name, latencyP99, percentile(late, 99))
	return p.end(nil)
}

// markReceiver finds out how late what it is told was sent.
type markReceiver struct {
	late chan float64 // s
}

var markForm = regexp.MustCompile(`"mark":"(\d+)"`)

// ServeHTTP implements http.Handler.
func (r *markReceiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	now := time.Now()
	body, err := io.ReadAll(q.Body)
	found := markForm.FindSubmatch(body)
	if err != nil || found == nil {
		http.Error(w, "no mark", http.StatusBadRequest)
		return
	}
	at, _ := strconv.ParseInt(string(found[1]), 10, 64) // of digits
	r.late <- now.Sub(time.Unix(0, at)).Seconds()
	w.WriteHeader(http.StatusNoContent)
}

// rules is the table of what was measured. The ratio is the median of those of the rounds.
func (r results) rules() string {
	if r[sendName] == nil {
		return ""
	}
	lines := [][]string{{"", "CPU, an event", "/ as many dwatch send", "memory, peak", "/ as many dwatch send", "latency, median", "p99"}}
	add := func(name, one string, n int) {
		if r[name] == nil {
			return
		}
		line := []string{name}
		for _, c := range []column{{metric: churnCPU, format: seconds}, {metric: churnPeak, format: megabytes}} {
			line = append(line, r.cell(c, name), significant(r.paired(name, one, c.metric)/float64(n), 2))
		}
		lines = append(lines, append(line, r.cell(column{metric: latency, format: seconds}, name), r.cell(column{metric: latencyP99, format: seconds}, name)))
	}
	for _, named := range []func(string) string{func(name string) string { return name }, before} {
		add(named(sendName), named(sendName), 1)
		for _, n := range ruleCounts {
			add(named(rulesName(n)), named(sendName), n)
		}
	}
	return "**Rules**\n\n" + markdown(lines) + "\n" + fmt.Sprintf(strings.ReplaceAll(
		`A server that only sends, %s ConfigMaps of 1.2 KB and %s updates a second for %d s; each rule has a condition of its own, which holds for
every %dth update, and tells a webhook of it. CPU is that for an event of the watch, with what it takes to tell all webhooks; "as
many" is so many times what one ~dwatch send~ took. Latency is from the moment when the server sends to that when the webhook has
the request.
`, "~", "`"), thousands(ruleObjects), thousands(ruleRate), ruleUpdates/ruleRate, ruleMark)
}
