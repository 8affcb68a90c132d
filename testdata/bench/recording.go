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

// Names of the contenders for recordings. All receive the same changes at the same time.
const (
	recordName     = "dwatch record"
	compressedName = "kubectl get -w -o json, zstd"
	plainName      = "kubectl get -w -o json"
	printName      = "dwatch, the same printed"
)

const (
	// recorded is the namespace of the pods that are recorded and updated.
	recorded                     = "bench-record"
	recordedPods, recordedWrites = 200, 1000
	// recordedRate is the number of updates per second. It affects the size, because fewer flushes compress better.
	recordedRate = 50
)

// recording measures the bytes per event in a recording, and in the compressed output of kubectl.
func (b *bench) recording(ctx context.Context) error {
	progress("recording")
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
	reading.Go(func() { _, unread = printed.lines.follow(recordedPods+recordedWrites, churnTimeout, nil) })
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

// used records the CPU time that a program has used so far.
func (b *bench) used(name string, p *process) error {
	used, err := cpuTime(p.pid())
	b.found.add(name, churnCPU, used.Seconds())
	return err
}

// compress compresses the output of kubectl for the existing pods and the updates, and returns its size. It writes the
// updates after the recorder has recorded the existing pods, and calls begun before.
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
	if _, err := p.lines.follow(recordedPods, syncTimeout, see); err != nil {
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
	got, err := p.lines.follow(recordedWrites, churnTimeout, see)
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

// compressed is a size in bytes before and after compression. It is the io.Writer of the compressed data.
type compressed struct{ before, after int }

func (c *compressed) Write(p []byte) (int, error) {
	c.after += len(p)
	return len(p), nil
}

// recorder is a dwatch record process.
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

// await waits until this number of events has been recorded.
func (r *recorder) await(ctx context.Context, events int) error {
	ctx, cancel := context.WithTimeout(ctx, deliveryTimeout)
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

// count returns the number of events recorded so far. It ignores errors of dwatch, because the end of the recording
// is still incomplete.
func (r *recorder) count(ctx context.Context) (int, error) {
	argv := r.versions[0].stream("pods", "-n", recorded, "--from", r.dir, "-o", "name", "-q")
	out, _ := r.child(ctx, argv[0], argv[1:]...).Output()
	return bytes.Count(out, []byte("\n")), context.Cause(ctx)
}

// finish interrupts the recorder as a user would, and returns the size of the recording.
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

// recordings returns the table of recordings. The first value of each metric is from the start of the updates, and
// the second from their end.
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
	lines := [][]string{{"", "bytes a pod at the start", "bytes an update", "/ kubectl", "CPU an update", "/ printed"}}
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
		`~dwatch record DIR pods~, ~dwatch pods --show-managed-fields~ and ~kubectl get pods --watch --output-watch-events -o json~ receive
the same events at the same time: %s pods of 9 KB, and %s updates, %d a second. The output of kubectl is compressed with zstd
(klauspost/compress) at its default level, as one stream that is flushed at the start and the end of the updates. The recording also
contains its index, status events and proofs, and is flushed each second.
`, "~", "`"), thousands(recordedPods), thousands(recordedWrites), recordedRate)
}
