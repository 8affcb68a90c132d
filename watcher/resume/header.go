package resume

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	bolt "go.etcd.io/bbolt"

	"dwatch/watcher/event"
)

// Header says what a file was created for. Its records only apply to that.
type Header struct {
	Server string `json:"server"` // the address
	// Cluster identifies the cluster independently of the server's address. It is empty if unknown.
	Cluster   string          `json:"cluster,omitempty"`
	Selection event.Selection `json:"selection"`
}

// Term identifies the leadership of one replica: the Lease, and a number that grows each time a
// replica acquires it.
type Term struct {
	Lease  string `json:"lease"`
	Number int    `json:"number"`
}

// format is the version of the file's format. Format 1 had a sentence instead of a selection. Each
// feature that older versions of dwatch must not ignore has its own format.
const (
	format       = 2
	formatOutbox = 3 // format 2 with an outbox
	// formatDigests is format 2 or 3 with digests in states.
	formatDigests = 4
	// formatMultiCluster is any of the formats above for several clusters.
	formatMultiCluster = 5
	// formatShards is any of the formats up to formatDigests for a file that was once used for one
	// of several shards. It may have foreign objects.
	formatShards = 6
)

var (
	headerBucket  = []byte("dwatch")
	targetsBucket = []byte("targets")
	formatKey     = []byte("format")
	headerKey     = []byte("header")
	digestsKey    = []byte("digests") // key of the digests; present once they were enabled
	shardsKey     = []byte("shards")  // present once the file was used for a shard
	termKey       = []byte("term")
)

// clustersBucket contains the Header of each cluster by the cluster's name. Only files for several
// clusters have it.
var clustersBucket = []byte("clusters")

var errNotStateFile = errors.New("it is not a state file of dwatch: use another file")

// readHeader returns the header, or nil if the file is new.
func readHeader(tx *bolt.Tx) (*Header, error) {
	b := tx.Bucket(headerBucket)
	if b == nil {
		if name, _ := tx.Cursor().First(); name != nil {
			return nil, errNotStateFile
		}
		return nil, nil
	}
	version, err := strconv.Atoi(string(b.Get(formatKey)))
	switch {
	case err != nil:
		return nil, errNotStateFile
	case version > formatShards:
		return nil, fmt.Errorf("it was written by a newer dwatch, in format %d, and this one knows %d: use that dwatch, or another file", version, formatShards)
	case version < format:
		return nil, fmt.Errorf("it was written by an older dwatch, in format %d, which this one can't read: use that dwatch, or delete the file to start over", version)
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
		version = formatMultiCluster
	case tx.Bucket(headerBucket).Get(shardsKey) != nil:
		version = formatShards
	case tx.Bucket(headerBucket).Get(digestsKey) != nil:
		version = formatDigests
	case tx.Bucket(outboxBucket) != nil:
		version = formatOutbox
	}
	return tx.Bucket(headerBucket).Put(formatKey, []byte(strconv.Itoa(version)))
}

// check returns an error if a file that was created for h can't be used for now. If both identify
// the same cluster, the server's address may differ.
func (h Header) check(now Header) error {
	known := h.Cluster != "" && now.Cluster != ""
	switch {
	case known && h.Cluster != now.Cluster:
		return fmt.Errorf("it was made for another cluster (at %s) than the one at %s: use another file, or delete it to start over", h.Server, now.Server)
	case !known && h.Server != now.Server:
		return fmt.Errorf("it was made for the server %s, not for %s (to know a cluster at another address, dwatch needs the permission to get the namespace kube-system): use another file, or delete it to start over", h.Server, now.Server)
	case !h.Selection.WithoutShard().Equal(now.Selection.WithoutShard()):
		return fmt.Errorf("it was made for %s, not for %s: use another file, or delete it to start over", h.Selection, now.Selection)
	}
	return nil
}
