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

// reasons has possible reasons why records are not stored while the client retries them. client is the last error that the client has
// logged, such as a leader that refuses connections. topic is a problem that the metadata of the topic shows.
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

// Log implements kgo.Logger. It retains the last error, for the message of an attempt that takes too long, and logs nothing.
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

// note records the problem that the metadata of the topic shows, if any.
func (r *reasons) note(partitions []kmsg.MetadataResponseTopicPartition) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.topic = reason{troubleOf(partitions), time.Now()}
}

// since returns the reasons recorded after then, with a colon in front, or "" if there are none.
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

// troubleOf describes the first partition that has an error or too few in-sync replicas. It returns "" if there is none.
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
