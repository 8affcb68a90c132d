package flags

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"dwatch/watcher/event"
)

// AutoShard is what stands for the number that the host has.
const AutoShard = "auto"

// maxShards is more than anybody runs: a number that is larger is a mistake.
const maxShards = 1000

// AddShard adds the flag for a part of the objects.
func (t *Targets) AddShard(f *pflag.FlagSet) {
	f.String("shard", "", "Select only the objects of shard `N/M`, by their UIDs, e.g. 2/5, or auto/5 to take N from the ordinal of a StatefulSet's pod; see docs/operating.md")
	offers(f, "shard", AutoShard+"/2", "1/2", "2/2")
	takes(f, "shard", func(text string) (err error) {
		t.request.Shard, err = parseShard(text)
		return invalid("shard", text, err)
	})
	notEmpty(f, "shard")
}

// parseShard reads a shard, whose number is 0 if it is that of the host.
func parseShard(text string) (event.Shard, error) {
	const takes = "it takes which one of how many: 2/5, or auto/5 in a pod of a StatefulSet"
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
		return event.Shard{}, fmt.Errorf("they are numbered from 1 to %d", m)
	}
	return event.Shard{Number: n, Count: m}, nil
}

// Ordinal returns the number of a pod of a StatefulSet, from 0, by the name of its host. The random end of other pods' names may
// be a number, too, which is larger.
func PodOrdinal(host string) (int, bool) {
	host, _, _ = strings.Cut(host, ".")
	at := strings.LastIndexByte(host, '-')
	if at < 1 {
		return 0, false
	}
	n, err := strconv.Atoi(host[at+1:])
	return n, err == nil && n < maxShards && strconv.Itoa(n) == host[at+1:]
}
