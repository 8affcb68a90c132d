// Command kafka is a Kafka broker for tests (kfake of franz-go).
//
// When it is ready it prints its HOST:PORT to stdout. It then reads commands from standard input, one a line, and
// answers each with the line "done" on stdout:
//
//	error N CODE   reject the next N produce requests with this error
//	mute           delay all requests
//	deaf           delay all responses
//	open           end mute and deaf
//	drop           close all connections
//	away           the second broker accepts no more connections (--brokers 2)
//
// It ends on SIGINT or SIGTERM, and when its standard input closes, so that it does not outlive the test that started it.
package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "kafka:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("kafka", flag.ContinueOnError)
	port := flags.Int("port", 0, "listen at this `PORT`; 0: at a free one")
	brokers := flags.Int("brokers", 1, "be so `MANY`")
	dir := flags.String("dir", "", "keep all in `DIR`")
	topics := flags.String("topics", "", "have these topics, `NAME:PARTITIONS,...`")
	user := flags.String("user", "", "let in only `MECHANISM:USER:PASSWORD`")
	reader := flags.Bool("reader", false, "that user may see topics, and not write")
	maxBytes := flags.String("max-bytes", "", "take no batch that is larger")
	cert := flags.String("cert", "", "speak TLS, with this `FILE`")
	key := flags.String("key", "", "`FILE` with its key")
	clientCA := flags.String("client-ca", "", "let in only who has a certificate of the authority in `FILE`")
	if err := flags.Parse(args); err != nil {
		return err
	}
	net := new(network)
	options := []kfake.Opt{kfake.NumBrokers(*brokers), kfake.Ports(append([]int{*port}, make([]int, *brokers-1)...)...), kfake.ListenFn(net.listen)}
	if *dir != "" {
		options = append(options, kfake.DataDir(*dir), kfake.SyncWrites())
	}
	seeds, leads, err := seed(*topics, *brokers)
	if err != nil {
		return err
	}
	options = append(options, seeds...)
	if *maxBytes != "" {
		options = append(options, kfake.BrokerConfigs(map[string]string{"message.max.bytes": *maxBytes}))
	}
	if *user != "" {
		options = append(options, users(*user, *reader)...)
	}
	if *cert != "" {
		config, err := tlsConfig(*cert, *key, *clientCA)
		if err != nil {
			return err
		}
		options = append(options, kfake.TLS(config))
	}
	cluster, err := kfake.NewCluster(options...)
	if err != nil {
		return err
	}
	defer cluster.Close()
	for _, lead := range leads {
		if err := lead(cluster); err != nil {
			return err
		}
	}
	if *user != "" {
		letIn(cluster, *user)
	}
	fmt.Println(cluster.ListenAddrs()[0])
	return wait(cluster, net)
}

// seed returns options that create topics, given as NAME:PARTITIONS,... The functions in leads distribute the
// leadership of their partitions over the brokers. They are called once the cluster runs.
func seed(topics string, brokers int) (options []kfake.Opt, leads []func(*kfake.Cluster) error, err error) {
	for topic := range strings.SplitSeq(topics, ",") {
		name, parts, ok := strings.Cut(topic, ":")
		if !ok {
			continue
		}
		n, err := strconv.Atoi(parts)
		if err != nil {
			return nil, nil, err
		}
		options = append(options, kfake.SeedTopics(int32(n), name))
		for i := range n {
			leads = append(leads, func(cluster *kfake.Cluster) error {
				return cluster.MoveTopicPartition(name, int32(i), int32(i%brokers))
			})
		}
	}
	return options, leads, nil
}

// wait carries out commands from standard input until it closes or a signal arrives.
func wait(cluster *kfake.Cluster, net *network) error {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	closed := make(chan error, 1)
	go func() { closed <- obey(cluster, net) }()
	select {
	case <-signals:
		return nil
	case err := <-closed:
		return err
	}
}

// users returns options that require a login with the user in text, MECHANISM:NAME:PASSWORD. A reader may only describe
// topics.
func users(text string, reader bool) []kfake.Opt {
	part := strings.SplitN(text, ":", 3)
	options := []kfake.Opt{kfake.EnableSASL()}
	if !reader {
		return append(options, kfake.Superuser(part[0], part[1], part[2]))
	}
	sees := kfake.ACL{Resource: kmsg.ACLResourceTypeTopic, Name: "*", Pattern: kmsg.ACLResourcePatternTypeLiteral, Operation: kmsg.ACLOperationDescribe, Allow: true}
	return append(options, kfake.EnableACLs(), kfake.User(part[0], part[1], part[2], sees))
}

// letIn answers SASL handshakes as real brokers do and kfake does not: it names the supported mechanisms, and reports
// a wrong password for PLAIN.
func letIn(cluster *kfake.Cluster, user string) {
	part := strings.SplitN(user, ":", 3)
	cluster.ControlKey(int16(kmsg.SASLHandshake), func(request kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		answer := request.ResponseKind().(*kmsg.SASLHandshakeResponse)
		answer.ErrorCode, answer.SupportedMechanisms = kerr.UnsupportedSaslMechanism.Code, part[:1]
		return answer, nil, request.(*kmsg.SASLHandshakeRequest).Mechanism != part[0]
	})
	cluster.ControlKey(int16(kmsg.SASLAuthenticate), func(request kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		said := bytes.Split(request.(*kmsg.SASLAuthenticateRequest).SASLAuthBytes, []byte{0})
		isWrong := part[0] == "PLAIN" && (len(said) != 3 || string(said[1]) != part[1] || string(said[2]) != part[2])
		answer := request.ResponseKind().(*kmsg.SASLAuthenticateResponse)
		answer.ErrorCode, answer.ErrorMessage = kerr.SaslAuthenticationFailed.Code, kmsg.StringPtr("Authentication failed: Invalid username or password")
		return answer, nil, isWrong
	})
}

func tlsConfig(cert, key, clientCA string) (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{Certificates: []tls.Certificate{pair}}
	if clientCA != "" {
		text, err := os.ReadFile(clientCA)
		if err != nil {
			return nil, err
		}
		config.ClientCAs, config.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
		config.ClientCAs.AppendCertsFromPEM(text)
	}
	return config, nil
}

// obey carries out commands from stdin until it closes.
func obey(cluster *kfake.Cluster, net *network) error {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		switch words := strings.Fields(lines.Text()); words[0] {
		case "error":
			n, _ := strconv.Atoi(words[1])
			code, err := strconv.Atoi(words[2])
			if err != nil {
				return err
			}
			for range n {
				cluster.ControlKey(int16(kmsg.Produce), func(request kmsg.Request) (kmsg.Response, error, bool) {
					return refused(request.(*kmsg.ProduceRequest), int16(code)), nil, true
				})
			}
		case "mute":
			net.set(true, false)
		case "deaf":
			net.set(false, true)
		case "open":
			net.set(false, false)
		case "drop":
			net.drop()
		case "away":
			net.listeners[1].Close()
			net.drop()
		default:
			return fmt.Errorf("unknown: %q", words)
		}
		fmt.Println("done")
	}
	return lines.Err()
}

// refused returns a response with an error for each partition of the request.
func refused(request *kmsg.ProduceRequest, code int16) *kmsg.ProduceResponse {
	answer := request.ResponseKind().(*kmsg.ProduceResponse)
	for _, t := range request.Topics {
		topic := kmsg.NewProduceResponseTopic()
		topic.Topic, topic.TopicID = t.Topic, t.TopicID
		for _, p := range t.Partitions {
			partition := kmsg.NewProduceResponseTopicPartition()
			partition.Partition, partition.ErrorCode = p.Partition, code
			topic.Partitions = append(topic.Partitions, partition)
		}
		answer.Topics = append(answer.Topics, topic)
	}
	return answer
}
