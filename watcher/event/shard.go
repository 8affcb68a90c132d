package event

import (
	"fmt"
	"math/bits"

	"k8s.io/apimachinery/pkg/types"
)

// NoShard stands for one too many, of a file that is left from when there were more.
const NoShard = "none"

// Shard is one of several parts of the same size into which all objects fall by their UIDs. The zero
// Shard stands for none: it has all.
//
// The parts are ranges of the hash of the UID (FNV-1a, 64 bits), as servers with ShardedListAndWatch have
// them (KEP-5866): so server and client leave out the same. UIDs never change, and so no object changes
// its shard while there are as many of them.
type Shard struct {
	// Number is from 1 to Of; more than that is a shard too many, which has nothing.
	Number int `json:"number,omitempty"`
	Of     int `json:"of,omitempty"`
}

// IsAll reports whether there is only one, which has all.
func (s Shard) IsAll() bool { return s.Of < 2 && !s.IsSurplus() }

// IsSurplus reports whether it is one too many, which has nothing.
func (s Shard) IsSurplus() bool { return s.Number > s.Of }

// Has reports whether an object is in the shard.
func (s Shard) Has(uid types.UID) bool {
	switch {
	case s.IsAll():
		return true
	case s.IsSurplus():
		return false
	}
	hash := hashOf(string(uid))
	return hash >= s.end(s.Number-1) && (s.Number == s.Of || hash < s.end(s.Number))
}

// end is where the n-th shard of all ends, which does not have that; the last one has no end. The first one
// begins at 0.
func (s Shard) end(n int) uint64 {
	if n == 0 {
		return 0
	}
	quotient, _ := bits.Div64(uint64(n), 0, uint64(s.Of))
	return quotient
}

// FNV-1a of 64 bits. That of hash/fnv allocates, and this is done for each object.
const (
	fnvOffset = 14695981039346656037
	fnvPrime  = 1099511628211
)

func hashOf(text string) uint64 {
	hash := uint64(fnvOffset)
	for i := range len(text) {
		hash = (hash ^ uint64(text[i])) * fnvPrime
	}
	return hash
}

// Selector asks a server for the shard, as metav1.ListOptions.ShardSelector; empty for all. A shard too many
// asks for what hardly anything is in: there is no way to ask for nothing.
func (s Shard) Selector() string {
	if s.IsAll() {
		return ""
	}
	from, to := "ffffffffffffffff", "10000000000000000" // one more than there is
	if !s.IsSurplus() {
		from = fmt.Sprintf("%016x", s.end(s.Number-1))
		if s.Number < s.Of {
			to = fmt.Sprintf("%016x", s.end(s.Number))
		}
	}
	return fmt.Sprintf("shardRange(object.metadata.uid, '0x%s', '0x%s')", from, to)
}

// String is how it is typed; empty for all.
func (s Shard) String() string {
	switch {
	case s.IsAll():
		return ""
	case s.IsSurplus():
		return fmt.Sprintf("%s/%d", NoShard, s.Of)
	}
	return fmt.Sprintf("%d/%d", s.Number, s.Of)
}
