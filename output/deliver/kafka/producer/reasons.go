package producer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// reasons are why records may not be stored, which the client tries again without a word: the last error that it ran into, such as a
// leader that refuses connections, and what brokers say of the topic. As a logger of the client it learns the first.
type reasons struct {
	mu            sync.Mutex
	client, topic reason
}

type reason struct {
	text string
	at   time.Time
}

var _ kgo.Logger = (*reasons)(nil)

// Level implements kgo.Logger.
func (*reasons) Level() kgo.LogLevel { return kgo.LogLevelInfo }

// Log implements kgo.Logger: nothing of it is shown but in the error of who waits in vain.
func (r *reasons) Log(_ kgo.LogLevel, _ string, members ...any) {
	for _, m := range members {
		err, is := m.(error)
		if is && !errors.Is(err, context.Canceled) && !errors.Is(err, kgo.ErrClientClosed) {
			r.mu.Lock()
			r.client = reason{err.Error(), time.Now()}
			r.mu.Unlock()
		}
	}
}

// note notes what brokers say of the partitions of the topic.
func (r *reasons) note(partitions []kmsg.MetadataResponseTopicPartition) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.topic = reason{troubleOf(partitions), time.Now()}
}

// since returns what there is to say of the time since then, behind a colon; empty: nothing.
func (r *reasons) since(then time.Time) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []string
	for _, one := range []reason{r.client, r.topic} {
		if one.text != "" && one.at.After(then) {
			all = append(all, one.text)
		}
	}
	if all == nil {
		return ""
	}
	return ": " + strings.Join(all, "; ")
}

// troubleOf says which partitions can't take records, or soon may not; empty: all is well.
func troubleOf(partitions []kmsg.MetadataResponseTopicPartition) string {
	for _, p := range partitions {
		if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
			return fmt.Sprintf("partition %d: %v", p.Partition, err)
		}
	}
	for _, p := range partitions {
		if len(p.ISR) < len(p.Replicas) {
			return fmt.Sprintf("partition %d has %d of %d replicas in sync: are these fewer than the topic's min.insync.replicas?", p.Partition, len(p.ISR), len(p.Replicas))
		}
	}
	return ""
}
