package flags

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"dwatch/watcher/event"
)

// AutoShard replaces the number in --shard auto/M, which then is the ordinal of the pod plus one.
const AutoShard = "auto"

// maxShards limits M in --shard N/M. A larger number is probably a mistake.
const maxShards = 1000

// AddShard adds --shard.
func (t *Targets) AddShard(f *pflag.FlagSet) {
	f.String("shard", "", "Select only the objects of shard `N/M`, by their UIDs, e.g. 2/5, or auto/5 to take N from the ordinal of a StatefulSet's pod; see docs/reference/replicas-and-shards.md")
	offers(f, "shard", AutoShard+"/2", "1/2", "2/2")
	takes(f, "shard", func(text string) (err error) {
		t.request.Shard, err = parseShard(text)
		return invalid("shard", text, err)
	})
	notEmpty(f, "shard")
}

// parseShard parses N/M, auto/M or none/M. For auto/M, the number of the shard is 0.
func parseShard(text string) (event.Shard, error) {
	const takes = "it takes the number of the shard and the number of shards, such as 2/5, or auto/5 in a pod of a StatefulSet"
	number, of, is := strings.Cut(text, "/")
	m, wrong := strconv.Atoi(of)
	switch {
	case !is || wrong != nil || m < 1:
		return event.Shard{}, errors.New(takes)
	case m > maxShards:
		return event.Shard{}, fmt.Errorf("there are at most %d shards", maxShards)
	case number == AutoShard:
		return event.Shard{Count: m}, nil
	case number == event.NoShard:
		return event.Shard{Number: m + 1, Count: m}, nil
	}
	n, wrong := strconv.Atoi(number)
	switch {
	case wrong != nil:
		return event.Shard{}, errors.New(takes)
	case n < 1 || n > m:
		return event.Shard{}, fmt.Errorf("shards are numbered from 1 to %d", m)
	}
	return event.Shard{Number: n, Count: m}, nil
}

// PodOrdinal returns the ordinal of a pod of a StatefulSet from its host name. The random suffix of other pods may also be a
// number, but has more digits.
func PodOrdinal(host string) (int, bool) {
	host, _, _ = strings.Cut(host, ".")
	at := strings.LastIndexByte(host, '-')
	if at < 1 {
		return 0, false
	}
	n, err := strconv.Atoi(host[at+1:])
	return n, err == nil && n < maxShards && strconv.Itoa(n) == host[at+1:]
}
