package event

import (
	"fmt"
	"math/bits"

	"k8s.io/apimachinery/pkg/types"
)

// NoShard replaces the number in the text form of a surplus shard, as in "none/2".
const NoShard = "none"

// Shard is one of Count shards of equal size. The UID of an object determines its shard, so an
// object stays in its shard as long as Count stays the same. The zero Shard contains all objects.
//
// A shard is a range of the 64-bit FNV-1a hash of the UID, as in the API server's
// ShardedListAndWatch feature (KEP-5866). Server and client therefore filter the same objects.
type Shard struct {
	// Number counts from 1. If it is greater than Count, the shard is left over from a larger Count
	// and contains no objects.
	Number int `json:"number,omitempty"`
	Count  int `json:"of,omitempty"`
}

// IsAll reports whether the shard contains all objects.
func (s Shard) IsAll() bool { return s.Count < 2 && !s.IsSurplus() }

// IsSurplus reports whether the shard contains no objects because its Number exceeds Count.
func (s Shard) IsSurplus() bool { return s.Number > s.Count }

// Has reports whether the shard contains the object with this UID.
func (s Shard) Has(uid types.UID) bool {
	switch {
	case s.IsAll():
		return true
	case s.IsSurplus():
		return false
	}
	hash := fnv64a(string(uid))
	return hash >= s.bound(s.Number-1) && (s.Number == s.Count || hash < s.bound(s.Number))
}

// bound returns the exclusive upper bound of shard n, which is where shard n+1 begins. n is less
// than Count, because the last shard is unbounded. bound(0) is 0.
func (s Shard) bound(n int) uint64 {
	if n == 0 {
		return 0
	}
	quotient, _ := bits.Div64(uint64(n), 0, uint64(s.Count))
	return quotient
}

const (
	fnvOffset = 14695981039346656037
	fnvPrime  = 1099511628211
)

// fnv64a is FNV-1a without the allocation of hash/fnv, because it runs for each object.
func fnv64a(text string) uint64 {
	hash := uint64(fnvOffset)
	for i := range len(text) {
		hash = (hash ^ uint64(text[i])) * fnvPrime
	}
	return hash
}

// Selector returns the shard as a metav1.ListOptions.ShardSelector, or "" for all objects. A
// selector can't select nothing, so a surplus shard selects the single highest hash.
func (s Shard) Selector() string {
	if s.IsAll() {
		return ""
	}
	from, to := "ffffffffffffffff", "10000000000000000" // to is 1<<64
	if !s.IsSurplus() {
		from = fmt.Sprintf("%016x", s.bound(s.Number-1))
		if s.Number < s.Count {
			to = fmt.Sprintf("%016x", s.bound(s.Number))
		}
	}
	return fmt.Sprintf("shardRange(object.metadata.uid, '0x%s', '0x%s')", from, to)
}

// String returns the shard as the --shard flag accepts it, or "" for all objects.
func (s Shard) String() string {
	switch {
	case s.IsAll():
		return ""
	case s.IsSurplus():
		return fmt.Sprintf("%s/%d", NoShard, s.Count)
	}
	return fmt.Sprintf("%d/%d", s.Number, s.Count)
}
