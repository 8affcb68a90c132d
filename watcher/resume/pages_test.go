package resume

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	bolt "go.etcd.io/bbolt"
)

// fillOutbox writes a file with pages of all kinds, some of which go on for several.
func fillOutbox(t testing.TB, path string) {
	t.Helper()
	fill(t, path)
	f, q, r := openOutbox(t, path)
	f.db.NoSync = true
	random := rand.New(rand.NewPCG(1, 1))
	q.at = func() {
		if _, err := q.outbox.Add([][]byte{bytes.Repeat([]byte("x"), random.IntN(9000))}, nil); err != nil {
			t.Error(err)
		}
	}
	for i := range 500 {
		r.report(pods, fmt.Sprintf("MODIFIED hidden/1/%d", i))
		if i%3 == 0 {
			q.outbox.Remove(uint64(random.IntN(i+1) + 1))
		}
	}
	if err := errors.Join(r.stage.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// damageNumber changes a number of a page to that of another page, or a bit of a key.
// bbolt's own check, which is not guarded against all damage, survives that.
func damageNumber(page []byte, id, pages int, random *rand.Rand) {
	flags, n := number.Uint16(page[8:]), int(number.Uint16(page[10:]))
	if n == 0 || flags == metaFlag || number.Uint64(page) != uint64(id) {
		return
	}
	other := uint64(random.IntN(pages))
	element := page[headerSize+random.IntN(n)*elementSize:]
	switch chance := random.IntN(4); {
	case chance == 0:
		number.PutUint64(page, other)
	case chance == 1: // less is there
		number.PutUint16(page[10:], uint16(random.IntN(n)))
	case flags == freeFlag:
		number.PutUint64(page[headerSize+8*random.IntN(n):], other)
	case flags == branchFlag && chance == 2:
		number.PutUint64(element[8:], other)
	case flags == branchFlag:
		element[number.Uint32(element)] ^= 1 << random.IntN(8)
	default:
		element[number.Uint32(element[4:])] ^= 1 << random.IntN(8)
	}
}

// TestPages: what bbolt's own check finds in a file, ours does.
func TestPages(t *testing.T) {
	path := newPath(t)
	fillOutbox(t, path)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	size := os.Getpagesize()
	var lists []int // pages that are, or were, of the list of free pages
	for id := range len(text) / size {
		if page := text[id*size:]; number.Uint64(page) == uint64(id) && number.Uint16(page[8:]) == freeFlag {
			lists = append(lists, id)
		}
	}
	found := 0
	for seed := range uint64(600) {
		random := rand.New(rand.NewPCG(seed, 1))
		id := 2 + random.IntN(len(text)/size-2)
		switch {
		case seed == 0:
			id = 0 // nothing is changed
		case seed%4 == 0:
			id = lists[random.IntN(len(lists))]
		}
		damaged := bytes.Clone(text)
		damageNumber(damaged[id*size:], id, len(text)/size, random)
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		db, err := openStore(path, func(tx *bolt.Tx, file *os.File) error {
			ours := checkPages(tx, file)
			var theirs error
			for err := range tx.Check() {
				theirs = errors.Join(theirs, err)
			}
			if (ours == nil) != (theirs == nil) {
				t.Errorf("%d: page %d: ours says %v, and theirs %v", seed, id, ours, theirs)
			}
			if theirs != nil {
				found++
			}
			return nil
		})
		if err == nil {
			db.Close()
		}
	}
	if found < 50 {
		t.Errorf("only %d are damaged", found)
	}
}
