package cli

import (
	"errors"
	"fmt"

	"dwatch/mapper"
	"dwatch/output"
)

// needsAllShards are flags that need objects of other shards, and why.
var needsAllShards = []struct{ name, why string }{
	{"for", "follows what belongs to one object, which is in all shards"},
	{"settle", "waits for what an object owns, too, which is in other shards"},
	{"since", asksMemory},
	{"before", asksMemory},
	{"until", "waits for objects that may be in other shards"},
	{"until-for", "waits for objects that may be in other shards"},
	{"lease", "lets one of several work, and all shards do"},
}

// asksMemory is why --since and --before do not go with a shard, unless they ask a recording.
const asksMemory = "asks what the cluster remembers of objects, which is in other shards, too"

// checkShardFlags finds flags that do not go with --shard.
func (c *common) checkShardFlags() error {
	for _, no := range needsAllShards {
		if c.all.Changed("shard") && c.all.Changed(no.name) && !(no.why == asksMemory && c.all.Changed("from")) {
			return fmt.Errorf("--%s %s: it does not go with --shard", no.name, no.why)
		}
	}
	return nil
}

// checkShard finds flags and arguments that do not go with --shard.
func (c *common) checkShard(arguments []mapper.Argument) error {
	if !c.all.Changed("shard") {
		return nil
	}
	if err := c.checkShardFlags(); err != nil {
		return err
	}
	for _, a := range arguments {
		if a.Name != "" {
			return fmt.Errorf("--shard is of all objects that there are, and %s is one, which may be in another shard: leave one of the two out", output.EscapeLine(a.String()))
		}
	}
	if c.connection.HasMultipleContexts() {
		return errors.New("--shard is of one cluster: it does not go with several, each of which may have shards of its own")
	}
	return nil
}
