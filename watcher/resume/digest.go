package resume

import (
	"bytes"
	"crypto/rand"
	"errors"

	bolt "go.etcd.io/bbolt"

	"dwatch/watcher/event"
)

const digestKeySize = 16

// KeepDigests has the file keep of each object that is reported what of returns: a line without
// spaces, by which another run will know what has changed. It is called before a Stage is made. The
// key that of is given is of this file: digests made with it are not those of another one.
func (f *File) EnableDigests(of func(key []byte) func(event.Object) string) error {
	var key []byte
	err := f.update(func(tx *bolt.Tx) error {
		header := tx.Bucket(headerBucket)
		if key = bytes.Clone(header.Get(digestsKey)); key != nil {
			return nil
		}
		key = make([]byte, digestKeySize)
		rand.Read(key) // which never fails
		return errors.Join(header.Put(digestsKey, key), writeFormat(tx))
	})
	if err != nil {
		return f.named(err)
	}
	f.digests = of(key)
	return nil
}

// digestsOf returns what is kept of the object of an event that is there after it.
func (f *File) digestsOf(e *event.Event) string {
	if f.digests == nil || e.Type == event.Deleted {
		return ""
	}
	return f.digests(e.Object)
}
