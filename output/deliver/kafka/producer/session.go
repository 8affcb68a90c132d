package producer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"dwatch/output/deliver"
)

// largestBatch is the maximum size of an uncompressed batch. The broker limits the compressed size.
const largestBatch = 16 << 20

// session is one client. Brokers recognize duplicates only within a session.
type session struct {
	client *kgo.Client
	ready  atomic.Bool // true if the last check found the topic, and no error has cast doubt on it since
}

func (s *session) isReady() bool { return s != nil && s.ready.Load() }

// newSession returns a session without connecting.
func (r *Receiver) newSession() (*session, error) {
	options := []kgo.Opt{
		kgo.ClientID("dwatch"),
		kgo.SeedBrokers(r.Brokers...),
		kgo.Dialer(r.dial),
		kgo.DisableClientMetrics(),
		kgo.MetadataMinAge(time.Second),
		kgo.DefaultProduceTopic(r.Topic),
		kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)), // as Java's client does
		kgo.ProducerBatchCompression(kgo.ZstdCompression(), kgo.SnappyCompression(), kgo.NoCompression()),
		kgo.ProducerBatchMaxBytes(largestBatch),
		kgo.MaxBufferedBytes(int(2 * r.bytes)), // room for current attempts, and for records that ended attempts have left in flight
		kgo.WithLogger(&r.reasons),
		kgo.ProducerLinger(0), // a batch has the records that arrived while the previous one was in flight
	}
	if r.login != nil {
		options = append(options, kgo.SASL(r.mechanisms()...))
	}
	client, err := kgo.NewClient(options...)
	return &session{client: client}, err
}

// checkTopic returns an error unless a broker answers and has the topic.
func (r *Receiver) checkTopic(ctx context.Context, s *session) error {
	answer, err := r.ask(ctx, s)
	if err != nil {
		return err
	}
	if len(answer.Topics) != 1 {
		return &deliver.DownError{Err: errors.New("a broker sent an unexpected response")}
	}
	switch err := kerr.ErrorForCode(answer.Topics[0].ErrorCode); {
	case err == nil:
		r.reasons.note(answer.Topics[0].Partitions)
		return nil
	case isNoTopic(err):
		r.drop(s) // the client may have cached the ID of a deleted topic with the same name
		return &deliver.SetupError{Err: r.noTopic()}
	case errors.Is(err, kerr.TopicAuthorizationFailed):
		return fmt.Errorf("the user may not see the topic %s at %s", r.Topic, r.place())
	default:
		return &deliver.DownError{Err: fmt.Errorf("the topic %s: %w", r.Topic, err)}
	}
}

func isDown(err error) bool {
	_, is := errors.AsType[*deliver.DownError](err)
	return is
}

// ask requests the metadata of the topic from all brokers, and returns the first response. If all requests fail, it returns one of the
// errors, preferably one that is not a DownError.
func (r *Receiver) ask(ctx context.Context, s *session) (*kmsg.MetadataResponse, error) {
	ctx, cancel := context.WithCancel(ctx)
	var asking sync.WaitGroup
	defer asking.Wait()
	defer cancel()
	brokers := append(s.client.SeedBrokers(), s.client.DiscoveredBrokers()...)
	answers, failures := make(chan *kmsg.MetadataResponse, len(brokers)), make(chan error, len(brokers))
	for _, b := range brokers {
		asking.Go(func() {
			topic := kmsg.NewMetadataRequestTopic()
			topic.Topic = kmsg.StringPtr(r.Topic)
			question := kmsg.NewPtrMetadataRequest()
			question.Topics = append(question.Topics, topic)
			began := time.Now()
			answer, err := b.Request(ctx, question)
			if err != nil {
				failures <- r.notConnected(ctx, began, err)
				return
			}
			answers <- answer.(*kmsg.MetadataResponse)
		})
	}
	var why error
	for range brokers {
		select {
		case answer := <-answers:
			return answer, nil
		case err := <-failures:
			if why == nil || isDown(why) && !isDown(err) {
				why = err
			}
		}
	}
	return nil, why
}
