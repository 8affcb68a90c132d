package console

import (
	"flag"
	"io"
	"log"
	"strconv"

	"k8s.io/klog/v2"
)

// SetClientLog sends the log of the Kubernetes client and of net/http to w at the level of -v. At level 0 they log nothing:
// dwatch reports itself what people have to know.
func SetClientLog(w io.Writer, level int) {
	if level <= 0 {
		w = io.Discard
	}
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	for name, value := range map[string]string{
		"logtostderr":     "false", // otherwise klog ignores SetOutput
		"stderrthreshold": "FATAL", // otherwise errors go to stderr in any case
		"one_output":      "true",
		"v":               strconv.Itoa(level),
	} {
		if err := flags.Set(name, value); err != nil {
			panic(err) // the names are klog's
		}
	}
	klog.SetOutput(w)
	log.SetOutput(w)
}
