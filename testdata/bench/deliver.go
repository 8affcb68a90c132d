package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"dwatch/testdata/stderrlog"
)

// Names of the contenders that deliver, and of the clients that they are compared with.
const (
	webhookName = "dwatch send --to http://"
	postName    = "bare Go client"
	commandName = "dwatch send -- true"
	shellName   = "while read -r l; do true; done"
	// stateSuffix is added to a name if the queue is in the file of --state.
	stateSuffix = " --state FILE"
)

const (
	// webhookEvents is the number of events to deliver to a webhook. It is the size of the queue.
	webhookEvents = 5000
	// commandEvents is the number of events for which a command runs. This takes seconds, so the start of dwatch
	// has little effect. commandTurns is the number of turns of all contenders in a round.
	commandEvents, commandTurns = 5000, 2
	// webhookWorkers is the number of concurrent requests to a webhook.
	webhookWorkers = 8
	// deliveryTimeout limits one measurement.
	deliveryTimeout = time.Minute
)

// deliver measures all ways to deliver once.
func (b *bench) deliver(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 12*deliveryTimeout)
	defer cancel()
	n := min(webhookEvents, b.pods-lightPods(b.pods))
	r, err := newReceiver(n)
	if err != nil {
		return err
	}
	defer r.server.Close()
	var events []byte
	for _, v := range b.versions {
		if _, err := b.webhook(ctx, r, n, v, webhookName+stateSuffix, "--state", b.stateFile("webhook")); err != nil {
			return err
		}
		if events, err = b.webhook(ctx, r, n, v, webhookName); err != nil {
			return err
		}
	}
	file := filepath.Join(b.dir, "events")
	if err := os.WriteFile(file, events, 0o600); err != nil {
		return err
	}
	if err := b.post(ctx, r, n, file); err != nil {
		return err
	}
	if err := b.jetStream(ctx, n, file); err != nil {
		return err
	}
	for range commandTurns {
		if err := b.commands(ctx, min(commandEvents, n), file); err != nil {
			return err
		}
	}
	return nil
}

// stateFile returns a path for --state at which no file exists.
func (b *bench) stateFile(name string) string {
	path := filepath.Join(b.dir, name+".state")
	os.Remove(path) // from the previous round
	return path
}

// webhook measures dwatch from the moment when all events are in its queue, and returns the events.
func (b *bench) webhook(ctx context.Context, r *receiver, n int, v version, name string, flags ...string) ([]byte, error) {
	r.begin(true)
	cmd := b.send(ctx, v, append([]string{"pods", "-n", heavy, "--count", strconv.Itoa(n),
		"--to", r.url, "--workers", strconv.Itoa(webhookWorkers), "--drain", deliveryTimeout.String()}, flags...)...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	lines, text := bufio.NewScanner(stderr), ""
	for lines.Scan() {
		text += lines.Text() + "\n"
		if strings.HasPrefix(stderrlog.StripTimes(lines.Text()), "waiting up to ") {
			r.release()
		}
	}
	if err := cmd.Wait(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", cmd, err, text)
	}
	rate, err := r.rate()
	b.found.add(v.named(name), sentRate, rate)
	return bytes.Join(r.bodies, nil), err
}

// post measures the minimal HTTP client, which posts the same events.
func (b *bench) post(ctx context.Context, r *receiver, n int, file string) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	r.begin(false)
	if text, err := b.child(ctx, program, postCommand, r.url, file).CombinedOutput(); err != nil {
		return fmt.Errorf("bare client: %w\n%s", err, text)
	}
	rate, err := r.rate()
	b.found.add(postName, sentRate, rate)
	return err
}

// commands measures a command for each event, from the start of dwatch to its end.
func (b *bench) commands(ctx context.Context, n int, file string) error {
	program, err := exec.LookPath("true")
	if err != nil {
		return err
	}
	each := []string{"pods", "-n", heavy, "--count", strconv.Itoa(n), "--drain", deliveryTimeout.String()}
	type way struct {
		name string
		cmd  *exec.Cmd
	}
	ways := []way{{shellName, b.child(ctx, "sh", "-c", fmt.Sprintf("head -n %d %s | while read -r l; do %s; done", n, file, program))}}
	for _, v := range b.versions {
		ways = append(ways,
			way{v.named(commandName), b.send(ctx, v, slices.Concat(each, []string{"--", program})...)},
			way{v.named(commandName + stateSuffix), b.send(ctx, v, slices.Concat(each, []string{"--state", b.stateFile(v.named("dwatch-command")), "--", program})...)})
	}
	for _, way := range ways {
		began := time.Now()
		if text, err := way.cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", way.cmd, err, text)
		}
		b.found.add(way.name, sentRate, float64(n)/time.Since(began).Seconds())
	}
	return nil
}

// send returns a command for a dwatch that delivers.
func (b *bench) send(ctx context.Context, v version, args ...string) *exec.Cmd {
	argv := v.send(args...)
	return b.child(ctx, argv[0], argv[1:]...)
}

func (b *bench) child(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = b.env
	return cmd
}

// deliveries returns the table of deliveries. Each ratio is the median of the ratios of all turns, because the two
// values of a turn were measured under similar load.
func (r results) deliveries() string {
	lines := [][]string{{"", "events a second", "compared with", "events a second", "ratio"}}
	for _, pair := range [][2]string{
		{webhookName, postName}, {webhookName + stateSuffix, webhookName},
		{natsName, publishName}, {natsName + stateSuffix, natsName},
		{commandName, shellName}, {commandName + stateSuffix, commandName},
		{webhookName, before(webhookName)}, {webhookName + stateSuffix, before(webhookName + stateSuffix)},
		{natsName, before(natsName)}, {natsName + stateSuffix, before(natsName + stateSuffix)},
		{commandName, before(commandName)}, {commandName + stateSuffix, before(commandName + stateSuffix)},
	} {
		if r[pair[0]] == nil || r[pair[1]] == nil {
			continue
		}
		one, other := r.median(pair[0], sentRate), r.median(pair[1], sentRate)
		lines = append(lines, []string{pair[0], count(one), pair[1], count(other), significant(r.paired(pair[0], pair[1], sentRate), 2)})
	}
	return markdown(lines)
}

// receiver is a webhook that records requests.
type receiver struct {
	url    string
	server *http.Server
	n      int

	arrived chan arrival
	held    chan struct{} // closed when it begins to answer
	bodies  [][]byte      // of the last run, after rate
}

type arrival struct {
	at   time.Time
	body []byte
}

func newReceiver(n int) (*receiver, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &receiver{url: "http://" + listener.Addr().String() + "/", n: n, arrived: make(chan arrival, 2*n)}
	r.server = &http.Server{Handler: r}
	go r.server.Serve(listener)
	return r, nil
}

// begin prepares for a run. If hold is true, no request is answered before release.
func (r *receiver) begin(hold bool) {
	r.held = make(chan struct{})
	if !hold {
		close(r.held)
	}
}

func (r *receiver) release() { close(r.held) }

// ServeHTTP implements http.Handler. It allocates the exact size of each body.
func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body := bytes.NewBuffer(make([]byte, 0, q.ContentLength+bytes.MinRead))
	if _, err := body.ReadFrom(q.Body); err != nil {
		return
	}
	<-r.held
	r.arrived <- arrival{time.Now(), body.Bytes()}
	w.WriteHeader(http.StatusNoContent)
}

// rate returns the number of requests per second, from the first answer to the last.
func (r *receiver) rate() (float64, error) {
	var first, last time.Time
	r.bodies = nil
	for range r.n {
		select {
		case a := <-r.arrived:
			if first.IsZero() {
				first = a.at
			}
			last = a.at
			r.bodies = append(r.bodies, a.body)
		default:
			return 0, fmt.Errorf("received %d of %d events", len(r.bodies), r.n)
		}
	}
	return float64(r.n-1) / last.Sub(first).Seconds(), nil
}

// postCommand runs this program as the minimal HTTP client: postCommand URL FILE posts each line of a file.
const postCommand = "post"

func postAll(args []string) error {
	if len(args) != 2 {
		return errors.New("usage: post URL FILE")
	}
	text, err := os.ReadFile(args[1])
	if err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: webhookWorkers}}
	bodies, errs := make(chan []byte, webhookWorkers), make(chan error, webhookWorkers)
	for range webhookWorkers {
		go func() {
			var failed error
			for body := range bodies {
				failed = errors.Join(failed, post(client, args[0], body))
			}
			errs <- failed
		}()
	}
	for body := range bytes.Lines(text) {
		bodies <- body
	}
	close(bodies)
	for range webhookWorkers {
		err = errors.Join(err, <-errs)
	}
	return err
}

func post(client *http.Client, url string, body []byte) error {
	answer, err := client.Post(url, "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	return answer.Body.Close()
}
