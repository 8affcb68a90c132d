package resume

import (
	"encoding/json"

	bolt "go.etcd.io/bbolt"
)

// Term is in whose name something is reported, of replicas of which one does at a time: of which Lease, and the how manieth to
// hold it.
type Term struct {
	Lease  string `json:"lease"`
	Number int    `json:"number"`
}

// Enter notes in the file in which Term it is used from now on, and returns that in which it was before; zero: in none.
func (f *File) Enter(t Term) (before Term, err error) {
	err = f.update(func(tx *bolt.Tx) error {
		b := tx.Bucket(headerBucket)
		if text := b.Get(termKey); text != nil {
			if err := json.Unmarshal(text, &before); err != nil {
				return damaged(err)
			}
		}
		text, err := json.Marshal(t)
		if err != nil {
			return err
		}
		return b.Put(termKey, text)
	})
	return before, f.named(err)
}
