package resume

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
	"slices"

	bolt "go.etcd.io/bbolt"
)

// A file of bbolt has pages: a header, elements, and what these point to. One that is full
// goes on in the pages behind it. Numbers are as in the memory of the machine.
const (
	headerSize  = 16 // number (8 bytes), flags (2), elements (2), pages that it goes on for (4)
	elementSize = 16 // of a leaf: flags, position, size of key and value (4 each);
	// of a branch: position, size of the key (4 each), page (8)

	branchFlag, leafFlag, metaFlag, freeFlag = 0x01, 0x02, 0x04, 0x10

	bucketFlag = 0x01 // of an element of a leaf: its value is a bucket,
	bucketSize = 16   // which is its root (8; 0: the page follows here) and a sequence (8)

	manyFree = 1<<16 - 1 // elements of a list of free pages: its first one says how many

	// Where the first pages have the list of free pages, of which transaction they are, and a
	// checksum.
	freeAt, transactionAt, sumAt = headerSize + 32, headerSize + 48, headerSize + 56
)

var number = binary.NativeEndian

// pageCheck finds out whether each page is part of one thing only, of a tree of keys in
// their order or of what is free, and whether what it points to is there. bolt.Tx.Check does
// that in the mapped file: when it is through, all of the file is in memory.
type pageCheck struct {
	file   io.ReaderAt
	size   int      // of a page
	used   []bool   // by page: it is part of something
	levels [][]byte // the present page of each level of a tree
}

// checkPages returns what is wrong with the pages of a file.
func checkPages(tx *bolt.Tx, file io.ReaderAt) error {
	size := tx.DB().Info().PageSize
	c := &pageCheck{file: file, size: size, used: make([]bool, tx.Size()/int64(size))}
	free, err := c.begin(uint64(tx.ID()))
	if err != nil {
		return err
	}
	if err := c.free(free); err != nil {
		return err
	}
	if err := c.tree(uint64(tx.Cursor().Bucket().Root()), nil, nil, 0); err != nil {
		return err
	}
	if id := slices.Index(c.used, false); id >= 0 {
		return fmt.Errorf("page %d is lost", id)
	}
	return nil
}

// begin returns where the list of free pages is. The first two pages take turns in saying
// it, each at the end of a transaction; one of them may be torn.
func (c *pageCheck) begin(transaction uint64) (free uint64, err error) {
	found := false
	for id := range uint64(2) {
		page, err := c.take(id, 0)
		if err != nil {
			return 0, err
		}
		if number.Uint16(page[8:]) != metaFlag {
			return 0, wrong(id)
		}
		sum := fnv.New64a()
		sum.Write(page[headerSize:sumAt])
		if number.Uint64(page[transactionAt:]) == transaction && number.Uint64(page[sumAt:]) == sum.Sum64() {
			free, found = number.Uint64(page[freeAt:]), true
		}
	}
	if !found {
		return 0, wrong(0)
	}
	return free, nil
}

func wrong(id uint64) error { return fmt.Errorf("page %d is not what it should be", id) }

// take reads a page, which is part of something from now on. It is there until the next one
// of the level is taken.
func (c *pageCheck) take(id uint64, level int) ([]byte, error) {
	if err := c.use(id); err != nil {
		return nil, err
	}
	for len(c.levels) <= level {
		c.levels = append(c.levels, nil)
	}
	page := slices.Grow(c.levels[level][:0], c.size)[:c.size]
	if _, err := c.file.ReadAt(page, int64(id)*int64(c.size)); err != nil {
		return nil, err
	}
	more := uint64(number.Uint32(page[12:]))
	if number.Uint64(page) != id || more >= uint64(len(c.used)) {
		return nil, wrong(id)
	}
	for behind := range more {
		if err := c.use(id + 1 + behind); err != nil {
			return nil, err
		}
	}
	all := slices.Grow(page, int(more)*c.size)[:(1+int(more))*c.size]
	if _, err := c.file.ReadAt(all[c.size:], int64(id+1)*int64(c.size)); err != nil && more > 0 {
		return nil, err
	}
	c.levels[level] = all
	return all, nil
}

// use notes that a page is part of something.
func (c *pageCheck) use(id uint64) error {
	switch {
	case id >= uint64(len(c.used)):
		return fmt.Errorf("page %d is not there", id)
	case c.used[id]:
		return fmt.Errorf("page %d is part of two things", id)
	}
	c.used[id] = true
	return nil
}

// free checks the list of free pages, which begins at a page.
func (c *pageCheck) free(id uint64) error {
	page, err := c.take(id, 0)
	if err != nil {
		return err
	}
	n, ids := uint64(number.Uint16(page[10:])), page[headerSize:]
	if n == manyFree {
		n, ids = number.Uint64(ids), ids[8:]
	}
	if number.Uint16(page[8:]) != freeFlag || n > uint64(len(ids)/8) {
		return wrong(id)
	}
	for i := range n {
		if err := c.use(number.Uint64(ids[8*i:])); err != nil {
			return err
		}
	}
	return nil
}

// tree checks a page and all below it: their keys are not before from, and before to. A
// nil from or to is no bound.
func (c *pageCheck) tree(id uint64, from, to []byte, level int) error {
	page, err := c.take(id, level)
	if err != nil {
		return err
	}
	return c.elements(id, page, from, to, level)
}

// elements is tree for the content of a page; id is where it is.
func (c *pageCheck) elements(id uint64, page, from, to []byte, level int) error {
	flags, n := number.Uint16(page[8:]), int(number.Uint16(page[10:]))
	isLeaf := flags == leafFlag
	if !isLeaf && (flags != branchFlag || n == 0) || headerSize+n*elementSize > len(page) {
		return wrong(id)
	}
	before := from
	for i := range n {
		key, value, ok := element(page, i, isLeaf)
		order := bytes.Compare(before, key)
		if !ok || order > 0 || order == 0 && i > 0 || to != nil && bytes.Compare(key, to) >= 0 {
			return wrong(id)
		}
		before = key
		e := page[headerSize+i*elementSize:]
		var err error
		switch {
		case isLeaf && number.Uint32(e)&bucketFlag != 0:
			err = c.bucket(id, value, level+1)
		case !isLeaf:
			next := to
			if i+1 < n {
				next, _, ok = element(page, i+1, isLeaf)
			}
			if !ok {
				return wrong(id)
			}
			err = c.tree(number.Uint64(e[8:]), key, next, level+1)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// element returns the key and the value of an element. It reports whether they are there.
func element(page []byte, i int, isLeaf bool) (key, value []byte, ok bool) {
	at := headerSize + i*elementSize
	sizes := page[at:]
	if isLeaf {
		sizes = sizes[4:]
	}
	begin := uint64(at) + uint64(number.Uint32(sizes))
	middle := begin + uint64(number.Uint32(sizes[4:]))
	end := middle
	if isLeaf {
		end += uint64(number.Uint32(sizes[8:]))
	}
	if begin == middle || end > uint64(len(page)) {
		return nil, nil, false
	}
	return page[begin:middle], page[middle:end], true
}

// bucket checks a bucket; id is where its value is.
func (c *pageCheck) bucket(id uint64, value []byte, level int) error {
	if len(value) < bucketSize {
		return wrong(id)
	}
	root, page := number.Uint64(value), value[bucketSize:]
	switch {
	case root != 0:
		return c.tree(root, nil, nil, level)
	case len(page) < headerSize:
		return wrong(id)
	}
	return c.elements(id, page, nil, nil, level)
}
