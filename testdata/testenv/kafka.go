package testenv

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// Kafka is a Kafka broker: the program in testdata/kafka.
type Kafka struct {
	child
	flags []string
}

// StartKafka starts a broker on a free port and returns when it is ready. The broker stores its data in dir. flags are
// passed to the program. The caller must call Kill.
func StartKafka(dir string, flags ...string) (*Kafka, error) {
	k := &Kafka{flags: append([]string{"--dir", dir}, flags...)}
	return k, k.start("0")
}

// Restart starts the broker again after Kill, on the same port and with its stored data.
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

// Command sends the program a line on its standard input and waits until it has been carried out.
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
