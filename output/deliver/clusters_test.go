package deliver

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestClusters checks that objects with the same UID in two clusters, which may be copies of each other, get different IDs. Records and
// dead letters retain the cluster.
func TestClusters(t *testing.T) {
	in := func(cluster string, initial bool) *Message {
		e := of("web", 1)
		e.Target.Cluster, e.Initial = cluster, initial
		m := newMessage(&e, []byte("{\"a\":1}\n"), "web")
		m.queued = time.Unix(5, 0)
		if cluster != "" {
			m.Source = "urn:uuid:" + cluster
		}
		return m
	}
	one, eu, us := in("", true), in("eu", true), in("us", false)
	if one.ID == eu.ID || eu.ID == us.ID || eu.key() == us.key() || one.key() == eu.key() {
		t.Errorf("got IDs %s, %s, %s, want different IDs and keys", one.ID, eu.ID, us.ID)
	}
	same := cmp.Options{cmp.AllowUnexported(Message{}), cmpopts.EquateApproxTime(0)}
	codec := newCodec()
	for _, m := range []*Message{one, eu, us} {
		read, err := codec.decode(codec.encode(m))
		if diff := cmp.Diff(m, read, same); err != nil || diff != "" {
			t.Errorf("record: %v, difference (-want +got):\n%s", err, diff)
		}
		again, err := decode(encode(m, time.Now(), 3, errors.New("no")))
		if err != nil || again.ID != m.ID || again.Cluster != m.Cluster || again.Source != m.Source {
			t.Errorf("dead letter: got %+v, %v", again, err)
		}
	}
}
