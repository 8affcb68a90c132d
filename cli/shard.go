package cli

import (
	"errors"
	"fmt"

	"dwatch/mapper"
	"dwatch/output"
)

// needsAllShards are flags that need objects of other shards, and why.
var needsAllShards = []struct{ name, why string }{
	{"for", "selects objects that may be in other shards"},
	{"settle", "also waits for owned objects, which may be in other shards"},
	{"since", asksMemory},
	{"before", asksMemory},
	{"until", "waits for objects that may be in other shards"},
	{"until-for", "waits for objects that may be in other shards"},
	{"lease", "lets one of several replicas work, but all shards must work"},
}

// asksMemory is why --since and --before cannot be combined with a shard, unless they read a recording.
const asksMemory = "also reads what the cluster retains in objects of other shards"

// checkShardFlags returns an error for flags that cannot be combined with --shard.
func (c *common) checkShardFlags() error {
	for _, no := range needsAllShards {
		if c.all.Changed("shard") && c.all.Changed(no.name) && !(no.why == asksMemory && c.all.Changed("from")) {
			return fmt.Errorf("--%s %s: it cannot be combined with --shard", no.name, no.why)
		}
	}
	return nil
}

// checkShard returns an error for flags and arguments that cannot be combined with --shard.
func (c *common) checkShard(arguments []mapper.Argument) error {
	if !c.all.Changed("shard") {
		return nil
	}
	if err := c.checkShardFlags(); err != nil {
		return err
	}
	for _, a := range arguments {
		if a.Name != "" {
			return fmt.Errorf("--shard divides all objects of a type, but %s is a single one, which may be in another shard: leave out one of them", output.EscapeLine(a.String()))
		}
	}
	if c.connection.HasMultipleContexts() {
		return errors.New("--shard divides the objects of one cluster: it cannot be combined with several clusters")
	}
	return nil
}
