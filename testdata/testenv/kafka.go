package testenv

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// Kafka is a broker of Kafka: the program of testdata/kafka.
type Kafka struct {
	child
	flags []string
}

// StartKafka starts one on a port of its own, and returns when it is ready. dir is where it keeps what it has, and flags are
// those of the program. The caller must call Kill.
func StartKafka(dir string, flags ...string) (*Kafka, error) {
	k := &Kafka{flags: append([]string{"--dir", dir}, flags...)}
	return k, k.start("0")
}

// Restart starts it again after Kill, on the same port, with what it has stored.
func (k *Kafka) Restart() error {
	_, port, _ := strings.Cut(k.Address, ":")
	return k.start(port)
}

func (k *Kafka) start(port string) error {
	return k.run("kafka", "DWATCH_KAFKA", append([]string{"--port", port}, k.flags...), func(line string) string {
		if strings.Contains(line, ":") {
			return line
		}
		return ""
	})
}

// Do has something happen to it: a line that the program takes.
func (k *Kafka) Command(line string) error {
	if _, err := io.WriteString(k.stdin, line+"\n"); err != nil {
		return err
	}
	select {
	case said := <-k.lines:
		if said != "done" {
			return fmt.Errorf("the broker says %q to %q\n%s", said, line, &k.log)
		}
		return nil
	case <-time.After(startWithin):
		return fmt.Errorf("the broker does not answer %q", line)
	}
}
