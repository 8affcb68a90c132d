package run

import (
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/types"

	"dwatch/watcher/event"
	"dwatch/watcher/object/kubeevent"
	"dwatch/watcher/object/owner"
)

// scaling is a Kubernetes Event of the Deployment controller: it set the number of replicas of a ReplicaSet.
type scaling struct {
	at         time.Time
	replicaSet string
	message    string
	replicas   int64 // the new number
}

// ownedReplicaSet is a ReplicaSet of a Deployment.
type ownedReplicaSet struct {
	deployment types.UID
	created    time.Time
}

// scalings ties writes to the subresource scale of Deployments, for which the server records no time, to Events that have one.
type scalings struct {
	byDeployment map[types.UID][]scaling // in the order of time
	replicaSets  map[types.NamespacedName]ownedReplicaSet
}

// rolloutPause is the time between two scalings after which they do not belong to the same rollout.
const rolloutPause = 10 * time.Minute

// addReplicaSet remembers which Deployment controls a ReplicaSet. It ignores other objects.
func (s *scalings) addReplicaSet(o event.Object) {
	if o.Kind != "ReplicaSet" || o.GroupVersionKind().Group != "apps" {
		return
	}
	for _, by := range owner.FromJSON(o.Raw()) {
		if by.Controller && by.Kind == "Deployment" {
			if s.replicaSets == nil {
				s.replicaSets = map[types.NamespacedName]ownedReplicaSet{}
			}
			created, _ := time.Parse(time.RFC3339, gjson.Get(o.Raw(), "metadata.creationTimestamp").Str)
			s.replicaSets[types.NamespacedName{Namespace: o.Namespace, Name: o.Name}] = ownedReplicaSet{by.UID, created}
		}
	}
}

// addEvents adds the Events of a reconstructed past, which is in the order of time.
func (s *scalings) addEvents(events []event.Event) {
	s.byDeployment = map[types.UID][]scaling{}
	for _, e := range events {
		if !e.Object.IsEvent() {
			continue
		}
		about := kubeevent.Parse(e.Object.Raw())
		if about.Reason != "ScalingReplicaSet" || about.InvolvedObject.Kind != "Deployment" {
			continue
		}
		if name, replicas, ok := parseScaling(about.Message); ok {
			of := about.InvolvedObject.UID
			s.byDeployment[of] = append(s.byDeployment[of], scaling{about.LastSeen, name, about.Message, replicas})
		}
	}
}

// parseScaling reads a message of the Deployment controller: "Scaled up replica set web-5d9 from 1 to 3", in older versions without
// "from 1".
func parseScaling(message string) (replicaSet string, replicas int64, ok bool) {
	words := strings.Fields(message)
	if len(words) < 7 || words[0] != "Scaled" || words[2] != "replica" || words[3] != "set" || words[len(words)-2] != "to" {
		return "", 0, false
	}
	replicas, err := strconv.ParseInt(words[len(words)-1], 10, 32)
	return words[4], replicas, err == nil
}

// find returns the Event that a write of replicas to a Deployment led to. That is the last scaling, if it is of a ReplicaSet that the
// Deployment controls, to the same number, and not part of a rollout.
func (s *scalings) find(deployment event.Object, replicas int64) (scaling, bool) {
	all := s.byDeployment[deployment.UID]
	if len(all) == 0 {
		return scaling{}, false
	}
	last := all[len(all)-1]
	of, known := s.replicaSets[types.NamespacedName{Namespace: deployment.Namespace, Name: last.replicaSet}]
	if !known || of.deployment != deployment.UID || last.replicas != replicas || last.at.Sub(of.created) < rolloutStart {
		return scaling{}, false
	}
	for _, other := range all[:len(all)-1] {
		if other.replicaSet != last.replicaSet && last.at.Sub(other.at) < rolloutPause {
			return scaling{}, false
		}
	}
	return last, true
}

// rolloutStart is the age of a ReplicaSet below which a scaling of it counts as part of its creation.
const rolloutStart = 2 * time.Second
