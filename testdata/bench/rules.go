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

// sendName is one dwatch send, with which rules are compared.
const sendName = "dwatch send"

// ruleCounts are the numbers of rules to measure.
var ruleCounts = []int{1, 10, 50}

const (
	// ruleObjects is the number of initial objects. ruleUpdates follow, ruleRate per second. Each rule sends every
	// ruleMark-th update to a receiver.
	ruleObjects, ruleUpdates, ruleRate, ruleMark = 1000, 20000, 2000, 100
	// marked is the condition of all rules.
	marked = "has(object.data.mark)"
)

func rulesName(n int) string {
	if n == 1 {
		return sendName + " -f, 1 rule"
	}
	return fmt.Sprintf("%s -f, %d rules", sendName, n)
}

// rules measures rules. The server runs in this process and only sends events.
func (b *bench) rules(ctx context.Context) error {
	server := httptest.NewServer(&testenv.FakeServers{Objects: ruleObjects, Updates: ruleUpdates, Rate: ruleRate, TimestampEvery: ruleMark})
	defer server.Close()
	defer server.CloseClientConnections()
	receiver := &markReceiver{delays: make(chan float64, ruleUpdates)}
	webhook := httptest.NewServer(receiver)
	defer webhook.Close()
	kubeconfig, file := filepath.Join(b.dir, "rules"), filepath.Join(b.dir, "rules.yaml")
	if err := new(testenv.FakeServers).WriteKubeconfig(kubeconfig, server.URL, "c1"); err != nil {
		return err
	}
	common := []string{"-q", "--kubeconfig", kubeconfig, "--context", "c1"}
	for _, v := range b.versions {
		if err := b.measureSend(ctx, v, receiver, sendName, 1, append(common, "cm", "--where", marked, "--to", webhook.URL)); err != nil {
			return err
		}
		for _, n := range ruleCounts {
			text := "apiVersion: dwatch/v1alpha1\nkind: Rules\nrules:\n"
			for i := range n {
				text += fmt.Sprintf("- {name: r%d, resources: [cm], where: %q, to: %q}\n", i, marked, webhook.URL)
			}
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				return err
			}
			if err := b.measureSend(ctx, v, receiver, rulesName(n), n, append(common, "-f", file)); err != nil {
				return err
			}
		}
	}
	return nil
}

// measureSend measures one dwatch from the first message to the receiver to the last.
func (b *bench) measureSend(ctx context.Context, v version, to *markReceiver, name string, rules int, args []string) error {
	name = v.named(name)
	progress("%s", name)
	p, err := start(ctx, v.send(args...), b.env, false)
	if err != nil {
		return err
	}
	var began time.Duration
	var delays []float64
	for range rules * ruleUpdates / ruleMark {
		select {
		case l := <-to.delays:
			delays = append(delays, l)
		case <-time.After(churnTimeout):
			return p.end(fmt.Errorf("received %d of %d messages", len(delays), rules*ruleUpdates/ruleMark))
		case <-ctx.Done():
			return p.end(context.Cause(ctx))
		}
		if len(delays) == 1 {
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
	b.found.add(name, latency, percentile(delays, 50))
	b.found.add(name, latencyP99, percentile(delays, 99))
	return p.end(nil)
}

// markReceiver measures the delay between the server sending an update and the arrival of its message.
type markReceiver struct {
	delays chan float64 // s
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
	at, _ := strconv.ParseInt(string(found[1]), 10, 64) // markForm only matches digits
	r.delays <- now.Sub(time.Unix(0, at)).Seconds()
	w.WriteHeader(http.StatusNoContent)
}

// rules returns the table of rules. Each ratio is the median of the ratios of all rounds.
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
		`The server only sends events: %s ConfigMaps of 1.2 KB, and %s updates a second for %d s. Each rule has its own condition, which
matches every %dth update, and sends these updates to a webhook. CPU is the time for an event of the watch, including the messages to
all webhooks. "as many" is the value of one ~dwatch send~ times the number of rules. Latency is the time from when the server sends an
update until the webhook receives the request.
`, "~", "`"), thousands(ruleObjects), thousands(ruleRate), ruleUpdates/ruleRate, ruleMark)
}
