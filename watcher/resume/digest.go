package resume

import (
	"bytes"
	"crypto/rand"
	"errors"

	bolt "go.etcd.io/bbolt"

	"dwatch/watcher/event"
)

const digestKeySize = 16

// EnableDigests makes the file record a digest for each reported object: one line without spaces,
// by which a later run can tell which fields have changed. newDigest returns the digest function
// for a key. The key belongs to this file, so digests of different files are not comparable. Call
// EnableDigests before NewStage.
func (f *File) EnableDigests(newDigest func(key []byte) func(event.Object) string) error {
	var key []byte
	err := f.update(func(tx *bolt.Tx) error {
		header := tx.Bucket(headerBucket)
		if key = bytes.Clone(header.Get(digestsKey)); key != nil {
			return nil
		}
		key = make([]byte, digestKeySize)
		rand.Read(key) // never fails
		return errors.Join(header.Put(digestsKey, key), writeFormat(tx))
	})
	if err != nil {
		return f.wrapError(err)
	}
	f.digests = newDigest(key)
	return nil
}

// digestsOf returns the digest to record for an event, or an empty string.
func (f *File) digestsOf(e *event.Event) string {
	if f.digests == nil || e.Type == event.Deleted {
		return ""
	}
	return f.digests(e.Object)
}
