package event

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/sharding"
	"k8s.io/apimachinery/pkg/types"
)

// TestShards checks that each object is in exactly one shard, whose range contains the hash that the
// API server computes from the UID.
func TestShards(t *testing.T) {
	for count := 1; count <= 17; count++ {
		for n := range 2000 {
			uid := types.UID(fmt.Sprintf("6f1c2b9a-58d4-4c07-9e31-%012x", n))
			hash := "0x" + sharding.HashField(string(uid))
			in := 0
			for number := 1; number <= count; number++ {
				s := Shard{number, count}
				if !s.Has(uid) {
					continue
				}
				in++
				if count > 1 {
					from, to := rangeOf(t, s)
					if hash < from || len(to) == len(hash) && hash >= to {
						t.Fatalf("%s with hash %s is in shard %s: %s", uid, hash, s, s.Selector())
					}
				}
			}
			if in != 1 {
				t.Fatalf("%s is in %d of %d shards", uid, in, count)
			}
		}
	}
}

// rangeOf returns the bounds in the selector of s.
func rangeOf(t *testing.T, s Shard) (from, to string) {
	t.Helper()
	parts := strings.Split(s.Selector(), "'")
	if len(parts) != 5 {
		t.Fatal(s.Selector())
	}
	return parts[1], parts[3]
}

func TestShardString(t *testing.T) {
	for s, want := range map[Shard]string{{}: "", {1, 1}: "", {2, 3}: "2/3", {3, 2}: "none/2", {9, 2}: "none/2"} {
		if got := s.String(); got != want {
			t.Errorf("%#v: got %q, want %q", s, got, want)
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
			t.Errorf("%#v: got %q, want %q", s, got, want)
		}
	}
}

// TestShardsAreEven checks that the sizes of shards differ by no more than ten percent.
func TestShardsAreEven(t *testing.T) {
	const shards, objects = 5, 10_000
	counts := map[int]int{}
	for n := range objects {
		for number := 1; number <= shards; number++ {
			if (Shard{number, shards}).Has(types.UID(fmt.Sprintf("%08x-58d4-4c07-9e31-a40c7e15d200", n*7919))) {
				counts[number]++
			}
		}
	}
	for number, n := range counts {
		if math.Abs(float64(n)-objects/shards) > objects/shards/10 {
			t.Errorf("shard %d has %d of %d objects", number, n, objects)
		}
	}
	if (Shard{3, 2}).Has("x") || !(Shard{}).Has("x") || !(Shard{1, 1}).Has("") {
		t.Error("a surplus shard must be empty, and the zero Shard must contain all objects")
	}
}
