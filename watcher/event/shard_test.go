package event

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/sharding"
	"k8s.io/apimachinery/pkg/types"
)

// TestShards: each object is in one shard, which is the one whose range has the hash that servers make
// of its UID.
func TestShards(t *testing.T) {
	for of := 1; of <= 17; of++ {
		for n := range 2000 {
			uid := types.UID(fmt.Sprintf("6f1c2b9a-58d4-4c07-9e31-%012x", n))
			hash := "0x" + sharding.HashField(string(uid))
			in := 0
			for number := 1; number <= of; number++ {
				s := Shard{number, of}
				if !s.Has(uid) {
					continue
				}
				in++
				if of > 1 {
					from, to := rangeOf(t, s)
					if hash < from || len(to) == len(hash) && hash >= to {
						t.Fatalf("%s with the hash %s is in %s: %s", uid, hash, s, s.Selector())
					}
				}
			}
			if in != 1 {
				t.Fatalf("%s is in %d of %d shards", uid, in, of)
			}
		}
	}
}

// rangeOf takes a selector apart.
func rangeOf(t *testing.T, s Shard) (from, to string) {
	t.Helper()
	parts := strings.Split(s.Selector(), "'")
	if len(parts) != 5 {
		t.Fatal(s.Selector())
	}
	return parts[1], parts[3]
}

// TestShardText: a shard is said as it is typed.
func TestShardText(t *testing.T) {
	for s, want := range map[Shard]string{{}: "", {1, 1}: "", {2, 3}: "2/3", {3, 2}: "none/2", {9, 2}: "none/2"} {
		if got := s.String(); got != want {
			t.Errorf("%d of %d: %s", s.Number, s.Of, got)
		}
	}
}

func TestSelectors(t *testing.T) {
	for s, want := range map[Shard]string{
		{}:     "",
		{1, 1}: "",
		{1, 2}: "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')",
		{2, 2}: "shardRange(object.metadata.uid, '0x8000000000000000', '0x10000000000000000')",
		{2, 3}: "shardRange(object.metadata.uid, '0x5555555555555555', '0xaaaaaaaaaaaaaaaa')",
		{3, 2}: "shardRange(object.metadata.uid, '0xffffffffffffffff', '0x10000000000000000')",
	} {
		if got := s.Selector(); got != want {
			t.Errorf("%v: %s", s, got)
		}
	}
}

// TestShardsAreEven: no shard has much more than another.
func TestShardsAreEven(t *testing.T) {
	const of, objects = 5, 10_000
	counts := map[int]int{}
	for n := range objects {
		for number := 1; number <= of; number++ {
			if (Shard{number, of}).Has(types.UID(fmt.Sprintf("%08x-58d4-4c07-9e31-a40c7e15d200", n*7919))) {
				counts[number]++
			}
		}
	}
	for number, n := range counts {
		if math.Abs(float64(n)-objects/of) > objects/of/10 {
			t.Errorf("shard %d has %d of %d", number, n, objects)
		}
	}
	if (Shard{3, 2}).Has("x") || !(Shard{}).Has("x") || !(Shard{1, 1}).Has("") {
		t.Error("none has all, and one too many has nothing")
	}
}
