package page

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"dwatch/watcher/event"
)

// largePod is a pod of about 9 KB, with managed fields, in one of its states.
func largePod(i int) event.Object {
	var containers, managed strings.Builder
	for c := range 12 {
		fmt.Fprintf(&containers, `{"name":"c%d","image":"registry.example/app:%d","env":[{"name":"A","value":"%s"}],"resources":{"limits":{"cpu":"1"}}},`, c, c, strings.Repeat("v", 300))
		fmt.Fprintf(&managed, `"k:{\"name\":\"c%d\"}":{".":{},"f:image":{},"f:name":{},"f:env":{".":{},"k:{\"name\":\"A\"}":{".":{},"f:name":{},"f:value":{}}}},`, c)
	}
	return object("Pod", "a", "u1", fmt.Sprint(i+1), fmt.Sprintf(`,"labels":{"app":"a","tier":"b"},"annotations":{"at":"%d"},`+
		`"managedFields":[{"manager":"kubectl","operation":"Update","apiVersion":"v1","time":"2026-01-02T03:04:05Z","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:annotations":{"f:at":{}}},"f:spec":{"f:containers":{%s}}}}]},`+
		`"spec":{"containers":[%s]},"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}`,
		i, strings.TrimSuffix(managed.String(), ","), strings.TrimSuffix(containers.String(), ",")))
}

// updates are changes of a pod, each from the state before.
func updates(n int) []event.Event {
	all := make([]event.Event, n)
	for i := range all {
		all[i] = modified(pods, largePod(i), largePod(i+1), i)
	}
	return all
}

// BenchmarkDeliver: what it costs to look at an event, whoever views.
func BenchmarkDeliver(b *testing.B) {
	h := newHub()
	deliver(b, h, added(pods, largePod(0), 0))
	all := updates(100)
	b.ReportAllocs()
	b.SetBytes(int64(len(all[0].Object.Raw())))
	for i := 0; b.Loop(); i++ {
		deliver(b, h, all[i%len(all)])
	}
}

// rate is how many updates come in a second.
const rate = 200

// BenchmarkPipe: how late lines come out of a pipe, with and without a page and its
// viewers. What counts are its p50 and p99; a round takes seconds.
func BenchmarkPipe(b *testing.B) {
	for _, viewers := range []int{-1, 0, 10} {
		name := fmt.Sprintf("viewers=%d", viewers)
		if viewers < 0 {
			name = "none"
		}
		b.Run(name, func(b *testing.B) { pipe(b, viewers) })
	}
}

// pipe measures with so many viewers; below 0 there is no page.
func pipe(b *testing.B, viewers int) {
	read, write, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	defer read.Close()
	out := bufio.NewWriter(write)
	var sink event.Sink = event.SinkFunc(func(_ context.Context, batch []event.Event) error {
		for i := range batch {
			fmt.Fprintf(out, "%d %s\n", time.Now().UnixNano(), batch[i].Object.Raw())
		}
		return out.Flush()
	})
	if viewers >= 0 {
		h := newHub()
		s := serve(b, h)
		deliver(b, h, added(pods, largePod(0), 0))
		for range viewers {
			go drain(b, s.dial(b, ""))
		}
		sink = h.Beside(sink)
	}
	all := updates(100)
	lines := bufio.NewScanner(read)
	lines.Buffer(nil, 1<<20)
	var late []float64
	ended := make(chan struct{})
	sent := make(chan time.Time, 1)
	go func() {
		defer close(ended)
		for lines.Scan() {
			late = append(late, float64(time.Since(<-sent).Microseconds()))
		}
	}()
	tick := time.NewTicker(time.Second / rate)
	defer tick.Stop()
	for i := 0; b.Loop(); i++ {
		<-tick.C
		sent <- time.Now()
		if err := sink.Deliver(b.Context(), all[i%len(all):][:1]); err != nil {
			b.Fatal(err)
		}
	}
	write.Close()
	<-ended
	slices.Sort(late)
	b.ReportMetric(late[len(late)/2], "µs-p50")
	b.ReportMetric(late[len(late)*99/100], "µs-p99")
}

// drain reads what comes, until that ends.
func drain(b *testing.B, d *dialed) {
	for {
		if _, r, err := d.Reader(b.Context()); err != nil {
			return
		} else if _, err := io.Copy(io.Discard, r); err != nil {
			if websocket.CloseStatus(err) == -1 {
				return
			}
		}
	}
}
