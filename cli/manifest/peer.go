package manifest

import (
	"net"
	"net/netip"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Peer is a destination that the pod may connect to, and its purpose.
type Peer struct {
	Purpose string `json:"why"`
	EgressRule
}

// EgressRule is an egress rule of a NetworkPolicy. Empty To allows all destinations, and empty Ports all ports.
type EgressRule struct {
	To    []Destination `json:"to,omitempty"`
	Ports []TargetPort  `json:"ports,omitempty"`
}

// Destination is a peer of a NetworkPolicy. Only one member is set.
type Destination struct {
	IPBlock           *IPBlock  `json:"ipBlock,omitempty"`
	NamespaceSelector *Selector `json:"namespaceSelector,omitempty"`
}

// IPBlock is a range of addresses.
type IPBlock struct {
	CIDR string `json:"cidr"`
}

// Selector selects objects by labels.
type Selector struct {
	MatchLabels map[string]string `json:"matchLabels"`
}

// TargetPort is a port of the pods behind a Service, which may differ from the port of the Service.
type TargetPort struct {
	Port     int    `json:"port"`
	Protocol string `json:"protocol,omitempty"`
}

// DNSPeer allows DNS queries.
func DNSPeer() Peer {
	return Peer{"DNS", EgressRule{Ports: []TargetPort{{53, "UDP"}, {53, "TCP"}}}}
}

// APIServerPeer allows connections to ports of the API server.
func APIServerPeer(ports ...int) Peer {
	p := Peer{Purpose: "the API server"}
	for _, port := range ports {
		p.Ports = append(p.Ports, TargetPort{Port: port})
	}
	return p
}

// AllowEgressTo allows the pod to connect to receivers at addresses.
func (r *Workload) AllowEgressTo(addresses ...*url.URL) {
	for _, address := range addresses {
		for _, p := range ReceiverPeers(address, r.Namespace) {
			if !slices.ContainsFunc(r.Egress, func(other Peer) bool { return reflect.DeepEqual(p, other) }) {
				r.Egress = append(r.Egress, p)
			}
		}
	}
}

// ReceiverPeers returns the peers for the address of a receiver: one, or two if the address may be a Service or a host
// outside the cluster. own is the namespace of the pod.
func ReceiverPeers(address *url.URL, own string) []Peer {
	why := "the receiver"
	host := strings.ToLower(address.Hostname())
	ports := []TargetPort{{Port: portOf(address)}}
	if strings.HasPrefix(address.Scheme, "kafka") {
		why = "the Kafka brokers: the first one returns the addresses of all of them"
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		cidr := netip.PrefixFrom(ip.Unmap().WithZone(""), ip.Unmap().BitLen()).String()
		if strings.HasPrefix(address.Scheme, "kafka") { // the first broker names others
			return []Peer{{why, EgressRule{Ports: ports}}}
		}
		return []Peer{{why, EgressRule{To: []Destination{{IPBlock: &IPBlock{cidr}}}, Ports: ports}}}
	}
	labels := strings.Split(strings.TrimSuffix(host, "."), ".")
	within := func(namespace string) Peer {
		label := map[string]string{"kubernetes.io/metadata.name": namespace}
		return Peer{why + ", a Service: its pods may listen at any port", EgressRule{To: []Destination{{NamespaceSelector: &Selector{label}}}}}
	}
	elsewhere := Peer{why, EgressRule{Ports: ports}}
	switch {
	case len(labels) == 1:
		return []Peer{within(own)}
	case len(validation.IsDNS1123Label(labels[1])) > 0: // not the name of a namespace
	case len(labels) >= 3 && labels[2] == "svc":
		return []Peer{within(labels[1])}
	case len(labels) == 2:
		return []Peer{within(labels[1]), elsewhere}
	}
	return []Peer{elsewhere}
}

func portOf(address *url.URL) int {
	if port, err := strconv.Atoi(address.Port()); err == nil {
		return port
	}
	switch address.Scheme {
	case "http":
		return 80
	case "https":
		return 443
	}
	return 4222 // the port of NATS; URLs of Kafka always have a port
}

// IsUnspecifiedAddress reports whether HOST:PORT means all addresses of a machine. The address of a pod is assigned only
// when it starts.
func IsUnspecifiedAddress(address string) bool {
	host, _, _ := net.SplitHostPort(address)
	ip, err := netip.ParseAddr(host)
	return host == "" || err == nil && ip.IsUnspecified()
}

// ParsePort returns the port of HOST:PORT, or 0 if there is none.
func ParsePort(address string) int {
	_, port, _ := net.SplitHostPort(address)
	n, _ := strconv.Atoi(port)
	return n
}
