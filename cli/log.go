package cli

import (
	"flag"
	"io"
	"log"
	"strconv"

	"k8s.io/klog/v2"
)

// quietClient sends the Kubernetes client's log to w at the level that -v asks
// for, and nowhere at 0: what people have to know, dwatch says itself.
func quietClient(w io.Writer, level int) {
	if level <= 0 {
		w = io.Discard
	}
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	for name, value := range map[string]string{
		"logtostderr":     "false", // otherwise SetOutput is not used
		"stderrthreshold": "FATAL", // otherwise errors go to stderr all the same
		"one_output":      "true",
		"v":               strconv.Itoa(level),
	} {
		if err := flags.Set(name, value); err != nil {
			panic(err) // the names are klog's
		}
	}
	klog.SetOutput(w)
	log.SetOutput(w) // net/http's
}
