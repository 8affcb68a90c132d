package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
)

// What is measured of recordings: each takes the same changes at the same time.
const (
	recordName     = "dwatch record"
	compressedName = "kubectl get -w -o json, zstd"
	plainName      = "kubectl get -w -o json"
	printName      = "dwatch, the same printed"
)

const (
	// recorded is the namespace of what is recorded: so many pods, and updates of them.
	recorded                     = "bench-record"
	recordedPods, recordedWrites = 200, 1000
	// recordedRate is how many updates are written a second: what is flushed less often is
	// compressed better.
	recordedRate = 50
)

// recording measures how many bytes an event takes in a recording, and in what kubectl prints, compressed.
func (b *bench) recording(ctx context.Context) error {
	say("recording")
	if _, err := b.cluster.Run("pods", strconv.Itoa(recordedPods), "--namespace", recorded); err != nil {
		return err
	}
	r, err := b.record(ctx)
	if err != nil {
		return err
	}
	printed, err := start(ctx, b.versions[0].stream("pods", "-n", recorded, "--show-managed-fields"), b.env, false)
	if err != nil {
		return r.end(err)
	}
	var reading sync.WaitGroup
	var unread error
	reading.Go(func() { _, unread = printed.lines.follow(recordedPods+recordedWrites, churnPatience, nil) })
	defer reading.Wait()
	defer printed.end(nil)
	size, err := b.compress(ctx, r, func() error { return errors.Join(b.used(recordName, r.process), b.used(printName, printed)) })
	if err != nil {
		return r.end(err)
	}
	if err := r.await(ctx, recordedPods+recordedWrites); err != nil {
		return r.end(err)
	}
	if reading.Wait(); unread != nil {
		return r.end(unread)
	}
	if err := errors.Join(b.used(recordName, r.process), b.used(printName, printed)); err != nil {
		return r.end(err)
	}
	written, err := r.finish()
	b.found.add(recordName, bytesOut, float64(written))
	b.found.add(compressedName, bytesOut, float64(size.after))
	b.found.add(plainName, bytesOut, float64(size.before))
	return err
}

// used notes how much CPU a program has used by now.
func (b *bench) used(name string, p *process) error {
	used, err := cpuTime(p.pid())
	b.found.add(name, churnCPU, used.Seconds())
	return err
}

// compress has kubectl print what is there and the updates, which it lets be written once the recorder
// has begun, too, and returns the size of that when it is compressed. begun is called in between.
func (b *bench) compress(ctx context.Context, r *recorder, begun func() error) (size compressed, err error) {
	p, err := start(ctx, []string{b.kubectl, "get", "pods", "-n", recorded, "--watch", "--output-watch-events", "-o", "json", "--chunk-size=0"}, b.env, false)
	if err != nil {
		return size, err
	}
	z, err := zstd.NewWriter(&size)
	if err != nil {
		return size, p.end(err)
	}
	var failed error
	see := func(line []byte) {
		size.before += len(line)
		if _, err := z.Write(line); err != nil {
			failed = err
		}
	}
	if _, err := p.lines.follow(recordedPods, syncPatience, see); err != nil {
		return size, p.end(err)
	}
	if err := r.await(ctx, recordedPods); err != nil {
		return size, p.end(err)
	}
	written, err := sizeOf(r.dir)
	if err := errors.Join(err, z.Flush(), begun()); err != nil {
		return size, p.end(err)
	}
	b.found.add(recordName, bytesOut, float64(written))
	b.found.add(compressedName, bytesOut, float64(size.after))
	b.found.add(plainName, bytesOut, float64(size.before))
	done := churn(b.cluster, recorded, recordedWrites, recordedRate)
	got, err := p.lines.follow(recordedWrites, churnPatience, see)
	if err != nil {
		err = fmt.Errorf("%d of %d updates seen: %w", got, recordedWrites, err)
	}
	for _, other := range []error{<-done, failed, z.Close()} {
		if err == nil {
			err = other
		}
	}
	return size, p.end(err)
}

// compressed is a size, in bytes. What is written to it counts as compressed.
type compressed struct{ before, after int }

func (c *compressed) Write(p []byte) (int, error) {
	c.after += len(p)
	return len(p), nil
}

// recorder is a dwatch that records.
type recorder struct {
	*bench
	*process
	dir string
}

func (b *bench) record(ctx context.Context) (*recorder, error) {
	dir := filepath.Join(b.dir, "recording")
	p, err := start(ctx, []string{b.versions[0].path, "record", dir, "pods", "-n", recorded}, b.env, false)
	return &recorder{b, p, dir}, err
}

// await waits until so many events are recorded.
func (r *recorder) await(ctx context.Context, events int) error {
	ctx, cancel := context.WithTimeout(ctx, deliveryPatience)
	defer cancel()
	for {
		found, err := r.count(ctx)
		if err != nil || found >= events {
			return err
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return fmt.Errorf("%d of %d events recorded: %w", found, events, context.Cause(ctx))
		}
	}
}

// count returns how many events are recorded by now. Of the end not all is known yet, which is no
// error here.
func (r *recorder) count(ctx context.Context) (int, error) {
	argv := r.versions[0].stream("pods", "-n", recorded, "--from", r.dir, "-o", "name", "-q")
	out, _ := r.child(ctx, argv[0], argv[1:]...).Output()
	return bytes.Count(out, []byte("\n")), context.Cause(ctx)
}

// finish ends the recorder as a person would, and returns the size of the recording.
func (r *recorder) finish() (size int64, err error) {
	if err := r.cmd.Process.Signal(os.Interrupt); err != nil {
		return 0, r.end(err)
	}
	if err := r.cmd.Wait(); err != nil {
		return 0, r.end(err)
	}
	size, err = sizeOf(r.dir)
	return size, r.end(err)
}

// recordings is the table of what was measured: of each first what is there at the begin of the updates,
// then what is at their end.
func (r results) recordings() string {
	if r[recordName] == nil {
		return ""
	}
	within := func(name string, m metric, of int) float64 {
		if len(r[name][m]) < 2 {
			return math.NaN()
		}
		return (r[name][m][1] - r[name][m][0]) / float64(of)
	}
	lines := [][]string{{"", "bytes a pod at the begin", "bytes an update", "/ kubectl", "CPU an update", "/ printed"}}
	for _, name := range []string{recordName, compressedName, plainName, printName} {
		line := []string{name, "", "", "", "", ""}
		if sizes := r[name][bytesOut]; sizes != nil {
			line[1], line[2] = count(sizes[0]/recordedPods), significant(within(name, bytesOut, recordedWrites), 3)
			line[3] = significant(within(name, bytesOut, 1)/within(compressedName, bytesOut, 1), 2)
		}
		if r[name][churnCPU] != nil {
			line[4] = seconds(within(name, churnCPU, recordedWrites))
			line[5] = significant(within(name, churnCPU, 1)/within(printName, churnCPU, 1), 3)
		}
		lines = append(lines, line)
	}
	return "**Recordings**\n\n" + markdown(lines) + "\n" + fmt.Sprintf(strings.ReplaceAll(
		`~dwatch record DIR pods~, ~dwatch pods --show-managed-fields~ and ~kubectl get pods --watch --output-watch-events -o json~ take the same
at the same time: %s pods of 9 KB, and %s updates of them, %d a second. What kubectl prints goes through the zstd of klauspost/compress,
at its default level, as one stream that is flushed where the updates begin and at their end. The recording has its index, its marks and
proofs besides, and is flushed each second.
`, "~", "`"), thousands(recordedPods), thousands(recordedWrites), recordedRate)
}
