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

// Peer is somebody whom the pod may reach, and why.
type Peer struct {
	Purpose string `json:"why"`
	EgressRule
}

// EgressRule is that of a NetworkPolicy: where to, or if that is empty to wherever, and at which
// ports, or at all.
type EgressRule struct {
	To    []Destination `json:"to,omitempty"`
	Ports []TargetPort  `json:"ports,omitempty"`
}

// Destination has one member.
type Destination struct {
	IPBlock           *IPBlock  `json:"ipBlock,omitempty"`
	NamespaceSelector *Selector `json:"namespaceSelector,omitempty"`
}

// Block is a range of addresses.
type IPBlock struct {
	CIDR string `json:"cidr"`
}

// Selector is of labels.
type Selector struct {
	MatchLabels map[string]string `json:"matchLabels"`
}

// TargetPort is one where the pods behind a Service listen, which need not be the Service's.
type TargetPort struct {
	Port     int    `json:"port"`
	Protocol string `json:"protocol,omitempty"`
}

// DNS is where names are resolved.
func DNSPeer() Peer {
	return Peer{"DNS", EgressRule{Ports: []TargetPort{{53, "UDP"}, {53, "TCP"}}}}
}

// Server is the API server, which listens at ports.
func APIServerPeer(ports ...int) Peer {
	p := Peer{Purpose: "the API server"}
	for _, port := range ports {
		p.Ports = append(p.Ports, TargetPort{Port: port})
	}
	return p
}

// Reaches lets the pod reach who gets what is sent to addresses.
func (r *Workload) AllowEgressTo(addresses ...*url.URL) {
	for _, address := range addresses {
		for _, p := range ReceiverPeers(address, r.Namespace) {
			if !slices.ContainsFunc(r.Egress, func(other Peer) bool { return reflect.DeepEqual(p, other) }) {
				r.Egress = append(r.Egress, p)
			}
		}
	}
}

// Receivers are who gets what is sent to an address: one, or two where the address may be that
// of a Service as well as one elsewhere. own is the namespace of the pod.
func ReceiverPeers(address *url.URL, own string) []Peer {
	why := "the receiver"
	host := strings.ToLower(address.Hostname())
	ports := []TargetPort{{Port: portOf(address)}}
	if strings.HasPrefix(address.Scheme, "kafka") {
		why = "the brokers, at whatever addresses they say that they have"
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		cidr := netip.PrefixFrom(ip.Unmap().WithZone(""), ip.Unmap().BitLen()).String()
		if strings.HasPrefix(address.Scheme, "kafka") { // it leads to others
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
	case len(validation.IsDNS1123Label(labels[1])) > 0: // no namespace is called so
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
	return 4222 // of NATS
}

// IsAnyAddress reports whether HOST:PORT is every address of a machine: that of a pod is known once it is there.
func IsUnspecifiedAddress(address string) bool {
	host, _, _ := net.SplitHostPort(address)
	ip, err := netip.ParseAddr(host)
	return host == "" || err == nil && ip.IsUnspecified()
}

// PortIn is the port of HOST:PORT; 0 if that has none.
func ParsePort(address string) int {
	_, port, _ := net.SplitHostPort(address)
	n, _ := strconv.Atoi(port)
	return n
}
