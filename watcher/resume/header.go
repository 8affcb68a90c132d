package resume

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	bolt "go.etcd.io/bbolt"

	"dwatch/watcher/event"
)

// Header says what a file is for. What it recorded holds only there.
type Header struct {
	Server string `json:"server"` // the address
	// Cluster identifies the cluster, wherever its server is; empty if that is not known.
	Cluster   string          `json:"cluster,omitempty"`
	Selection event.Selection `json:"selection"`
}

// Term is in whose name something is reported, of replicas of which one does at a time: of which Lease, and the how manieth to
// hold it.
type Term struct {
	Lease  string `json:"lease"`
	Number int    `json:"number"`
}

// format is the version of what is in the file. In format 1 the selection was a sentence. A dwatch
// that does not know of an outbox must not take a file with one.
const (
	format       = 2
	formatOutbox = 3 // as 2, with an outbox
	// formatDigests is as either, and states may have digests.
	formatDigests = 4
	// formatSeveral is as any of them, of several clusters.
	formatSeveral = 5
	// formatShards is as any of them but that, and was once for one of several shards: it may know of objects of others.
	formatShards = 6
)

var (
	headerBucket  = []byte("dwatch")
	targetsBucket = []byte("targets")
	formatKey     = []byte("format")
	headerKey     = []byte("header")
	digestsKey    = []byte("digests") // of the digests; there from the first one on
	shardsKey     = []byte("shards")  // there from the first shard on
	termKey       = []byte("term")
)

// clustersBucket has what the file is for in each of several clusters, by what a cluster is called. It
// is there in a file of several, and only there.
var clustersBucket = []byte("clusters")

var errForeign = errors.New("it is not a state file of dwatch: take another one")

// readHeader returns nil where nothing has been written yet.
func readHeader(tx *bolt.Tx) (*Header, error) {
	b := tx.Bucket(headerBucket)
	if b == nil {
		if name, _ := tx.Cursor().First(); name != nil {
			return nil, errForeign
		}
		return nil, nil
	}
	version, err := strconv.Atoi(string(b.Get(formatKey)))
	switch {
	case err != nil:
		return nil, errForeign
	case version > formatShards:
		return nil, fmt.Errorf("it was written by a newer dwatch, in format %d, and this one knows %d: use that dwatch, or another file", version, formatShards)
	case version < format:
		return nil, fmt.Errorf("it was written by an older dwatch, in format %d, which this one can't go on with: use that dwatch, or delete the file to start over", version)
	}
	h := &Header{}
	if err := json.Unmarshal(b.Get(headerKey), h); err != nil {
		return nil, damaged(err)
	}
	return h, nil
}

func (h Header) write(tx *bolt.Tx) error {
	b, err := tx.CreateBucketIfNotExists(headerBucket)
	if err != nil {
		return err
	}
	text, err := json.Marshal(h)
	if err != nil {
		return err
	}
	if h.Selection.Shard != (event.Shard{}) {
		err = b.Put(shardsKey, []byte("once"))
	}
	return errors.Join(err, writeFormat(tx), b.Put(headerKey, text))
}

func writeFormat(tx *bolt.Tx) error {
	version := format
	switch {
	case tx.Bucket(clustersBucket) != nil:
		version = formatSeveral
	case tx.Bucket(headerBucket).Get(shardsKey) != nil:
		version = formatShards
	case tx.Bucket(headerBucket).Get(digestsKey) != nil:
		version = formatDigests
	case tx.Bucket(outboxBucket) != nil:
		version = formatOutbox
	}
	return tx.Bucket(headerBucket).Put(formatKey, []byte(strconv.Itoa(version)))
}

// check returns why a file that was made for h can't be used for now. The address of a cluster
// that is known to be the same one may change.
func (h Header) check(now Header) error {
	known := h.Cluster != "" && now.Cluster != ""
	switch {
	case known && h.Cluster != now.Cluster:
		return fmt.Errorf("it was made for another cluster (at %s) than the one at %s: take another one, or delete it to start over", h.Server, now.Server)
	case !known && h.Server != now.Server:
		return fmt.Errorf("it was made for the server %s, not for %s (to know a cluster at another address, dwatch needs the right to get the namespace kube-system): take another one, or delete it to start over", h.Server, now.Server)
	case !h.Selection.WithoutShard().Equal(now.Selection.WithoutShard()):
		return fmt.Errorf("it was made for %s, not for %s: take another one, or delete it to start over", h.Selection, now.Selection)
	}
	return nil
}
