package cli

// streamDescription is of dwatch itself.
var streamDescription = description{
	name:  "dwatch",
	use:   "[-r RESOURCE]... [TYPE[,TYPE...] [NAME...] | TYPE/NAME...] [flags]",
	short: "Watch any Kubernetes resource",
	long: `Watch any resource of a Kubernetes cluster and see each change.

At a terminal, dwatch shows each change and which program made it. In a pipe, it
prints lines of JSON such as {"type":"ADDED","object":{...}}. Existing objects
come first, with "initial":true. dwatch resumes a lost connection.

Name resources as with kubectl: po, pods/web-1, deploy,sts, or a category (all).`,
	examples: `  # Watch a rollout: deployments with their ReplicaSets and pods
  %[1]s deploy,rs,po -n default

  # Start with the changes of the last two hours that the cluster retains
  %[1]s deploy,cm,po -A --since 2h

  # Pipe JSON to a program: print the name of each deleted job
  %[1]s jobs -A | jq -r 'select(.type=="DELETED") | .object.metadata.name'

  # Print only changes of an image, and who made them
  %[1]s deploy,sts,ds -A --where "changed('..image')"

  # Watch the Events about a deployment and the objects that it owns
  %[1]s events --for deploy/web
`,
	mainFlags: []string{"namespace", "all-namespaces", "selector", "for", "since", "from", "where", "types", "watch-only", "only", "output", "until", "timeout", "state"},
	options:   func() options { return new(streamOptions) },
}

var listDescription = description{
	name:  "list",
	use:   "RESOURCE... [flags]",
	short: "List objects once, and end",
	long: `List objects as one List or as a table, and end. If a part of the list can't be
read, nothing is printed: an incomplete List would look complete. If one of
several clusters does not answer, the others are listed with exit code 1.`,
	examples: `  # List objects as YAML
  %[1]s list cm,secrets -n kube-system -o yaml

  # List pods as a table, the oldest first
  %[1]s list pods -A -o wide --sort-by .metadata.creationTimestamp

  # Print one value of each object
  %[1]s list pods -o jsonpath='{range .items[*]}{.metadata.name}{"\n"}{end}'
`,
	mainFlags: []string{"namespace", "all-namespaces", "selector", "for", "where", "output", "sort-by", "show-labels", "from", "at", "timeout", "context"},
	options:   func() options { return &listOptions{common: common{listOnly: true}} },
}

var liveDescription = description{
	name:  "live",
	use:   "RESOURCE... [flags]",
	short: "Show objects in a table that updates in place",
	long: `Show objects at the terminal, in a table that updates in place. Objects that
have failed or are not ready come first. The screen shows the most important
keys, and ? explains all of them.`,
	examples: `  # Watch a rollout
  %[1]s live deploy,rs,po

  # Show only pods that are not ready, in all namespaces
  %[1]s live pods -A --where '!ready(object)'

  # Show a recording from 02:55, and step from change to change
  %[1]s live deploy,po --from rec --at 02:55
`,
	mainFlags: []string{"namespace", "all-namespaces", "selector", "for", "where", "only", "show-labels", "until", "fail-if", "timeout", "from", "at", "context"},
	options:   func() options { return new(liveOptions) },
}

var serveDescription = description{
	name:  "serve",
	use:   "RESOURCE... [flags]",
	short: "Serve a web page that shows objects and their changes",
	long: `Serve a web page that shows objects and their changes, for people without
kubectl. dwatch prints its URL, which contains a token, to stderr. It keeps all
content in memory.`,
	examples: `  # Serve the page on this machine, and open it in the browser
  %[1]s serve deploy,rs,po -A --open

  # Serve a recording, with a slider for the time
  %[1]s serve deploy,po --from rec --at 02:55

  # Serve the page to other machines over TLS
  %[1]s serve deploy,po --addr :8443 --tls-cert cert.pem --tls-key key.pem
`,
	mainFlags: []string{"namespace", "all-namespaces", "selector", "for", "addr", "open", "tls-cert", "tls-key", "serve-insecure", "record", "from", "at", "context"},
	options:   func() options { return new(serveOptions) },
}

var sendDescription = description{
	name:  "send",
	use:   "RESOURCE... --to URL [flags]\n  PATH RESOURCE... [flags] -- COMMAND [ARG...]\n  PATH -f RULES [flags]\n  PATH --redeliver FILE [flags] --to URL | -- COMMAND [ARG...]",
	short: "Deliver each event to a webhook, NATS, Kafka or a command",
	long: `Deliver each event to a webhook, NATS, Kafka or a command, and retry until it is
accepted. Existing objects come first, as ADDED with "initial":true;
--watch-only leaves them out. Values of Secrets are masked unless --show-secrets
is given. The events of one object stay in order. With --state, pending events
survive a restart, which then sends only what changed.`,
	examples: `  # Send CloudEvents to a webhook, and retry until it answers with 2xx
  %[1]s send jobs -A --to https://broker.example.com --to-token-file token

  # Send to a NATS JetStream stream, and resume after a restart of dwatch
  %[1]s send deploy,sts -A --to nats://nats.example.com/k8s --state file

  # Run a command for each event, with the event on stdin, and retry if it fails
  %[1]s send jobs -A -- ./hook.sh

  # Send one chat message for each rollout, when it is done or has failed
  %[1]s send deploy,rs,po -A --settle 30s --to-file slack-url --template slack

  # Run several rules, each with its own resources and receiver
  %[1]s send -f rules.yaml --state directory
`,
	mainFlags: []string{"all-namespaces", "selector", "where", "settle", "to", "to-file", "to-token-file", "template", "workers", "state", "give-up-after", "dead-letters", "filename"},
	options:   func() options { return new(sendOptions) },
}

var recordDescription = description{
	name:  "record",
	use:   "DIR RESOURCE... [flags]",
	short: "Record objects and their changes, to query them later",
	long: `Record objects and all their changes into a directory, with managed fields,
until you end it. The next run continues the recording. With --from DIR, other
commands read the recording instead of a cluster, and report the times that it
does not cover. Values of Secrets are recorded as size and hash, unless
--show-secrets is given. If dwatch is killed, the last second is lost.`,
	examples: `  # Record all resources of the cluster; keep 30 days, and at most 10 GiB
  %[1]s record rec '*' -A --keep 30d --max-size 10Gi

  # Print the changes from two hours ago to one hour ago
  %[1]s '*' -A --from rec --since 2h --before 1h

  # List the objects of an hour ago
  %[1]s list deploy,po -n prod --from rec --at 1h -o wide
`,
	mainFlags: []string{"namespace", "all-namespaces", "exclude", "selector", "keep", "max-size", "mask", "show-secrets", "timeout", "listen", "context"},
	options:   func() options { return new(recordOptions) },
}

var diffDescription = description{
	name:  "diff",
	use:   "RESOURCE... --from DIR --at TIME | -n A,B | --context A,B [flags]",
	short: "Show differences between two times, namespaces or clusters",
	long: `Compare the objects at two times of a recording. For each object that differs,
dwatch prints one change, and who made it if the managed fields show that. If
the recording of a cluster does not cover one of the times, nothing is printed
about the cluster and the exit code is 4.

dwatch also compares two namespaces, or several clusters with the first one. It
leaves out the fields that each server sets itself; see
docs/tasks/compare-two-clusters.md.`,
	examples: `  # Show what has changed in the last hour
  %[1]s diff deploy,cm -n prod --from rec --at 1h

  # Compare two times, only in the spec
  %[1]s diff deploy -A --from rec --at 02:00 --before 03:00 --only spec

  # Compare two clusters
  %[1]s diff deploy/web --context staging,prod

  # Compare two namespaces
  %[1]s diff deploy,cm,secrets -n staging,prod
`,
	mainFlags: []string{"namespace", "context", "from", "at", "before", "selector", "only", "ignore", "output", "full", "exit-code"},
	options:   func() options { return new(diffOptions) },
}

var exportDescription = description{
	name:  "export",
	use:   "FILE [RESOURCE...] --from DIR [flags]",
	short: "Export a recording as a web page in one file",
	long: `Write a recording as a web page into one HTML file, for a colleague or a ticket.
It opens from disk, without a server, a network or dwatch. A slider selects the
time for which it shows objects, changes, timeline and problems. Without
RESOURCE, it contains all recorded resources.

The file has at most 20 MB; --max-size changes that. dwatch leaves out the
oldest data if necessary, and the page describes omitted data and gaps of the
recording. "-" writes to stdout. Values of Secrets are masked, and values that
were masked in the recording stay masked.`,
	examples: `  # Export the hour from 02:00 to 03:00
  %[1]s export incident.html --from rec --since 02:00 --before 03:00

  # Export the whole recording, but not more than 5 MB
  %[1]s export incident.html --from rec --max-size 5M

  # Export one namespace, and mask the values of a field
  %[1]s export incident.html deploy,po,events -n prod --from rec \
      --mask ..env
`,
	mainFlags: []string{"from", "since", "before", "namespace", "all-namespaces", "only", "mask", "max-size", "complete", "force"},
	options:   func() options { return new(exportOptions) },
}

var waitDescription = description{
	name:  "wait",
	use:   "TYPE/NAME... [--for WHAT] [flags]",
	short: "Wait until objects are ready, or have failed",
	long: `Wait until the named objects are ready, and report the progress on stderr. The
objects need not exist yet. A type without a name means all existing objects of
the type. Without --timeout, there is no limit.

The exit code is 0 if the objects are ready, 3 if one has failed, 124 if
--timeout has passed, 2 if the command line is wrong, and 1 after another error.

--for ready is the condition of kubectl rollout status, but for any kind.
--for failed waits until the status shows a failure, --for delete until the
objects are gone, and --for changed until an object is added, modified or
deleted. Words such as restarted, scaled and newimage wait for the next event of
that kind.`,
	examples: `  # In a CI job: wait until the rollout is complete or has failed
  %[1]s wait deploy/web --timeout 5m

  # Wait for the same conditions as with kubectl wait
  %[1]s wait job/migrate --for condition=Complete --timeout 10m
  %[1]s wait pod/web-1 --for jsonpath='{.status.phase}'=Running
  %[1]s wait ns/old --for delete

  # Wait for a CEL expression
  %[1]s wait deploy/web --for "object.status.?updatedReplicas.orValue(0) >= 3"
`,
	mainFlags: []string{"for", "fail-if", "until-for", "timeout", "logs", "namespace", "selector", "wait", "quiet", "context"},
	options:   func() options { return new(waitOptions) },
}

var rbacDescription = description{
	name:  "rbac",
	use:   "[COMMAND] RESOURCE... [flags]",
	short: "Print the minimal RBAC roles for a command line",
	long: `Print the minimal roles that allow a dwatch command line, with bindings for the
current user or the user of --as, and end. The command line follows, with its
flags: COMMAND is list, live, record, send, serve, top or wait. Without COMMAND,
the roles are for watching RESOURCE.`,
	examples: `  # Print the role that lets a service account watch deployments
  %[1]s rbac deploy --as system:serviceaccount:ops:watcher

  # Print the role for delivering their events, with a state file
  %[1]s rbac send deploy -A --state s --to https://broker.example.com

  # Create the roles for a page that shows all namespaces
  %[1]s rbac serve deploy,po -A | kubectl apply -f -
`,
	mainFlags: []string{"output", "namespace", "all-namespaces", "selector", "exclude", "as", "context", "all-contexts"},
	wrap:      newRBACOptions,
	wrapped:   []string{"list", "live", "serve", "send", "record", "wait", "top"},
}

var manifestsDescription = description{
	name:  "manifests",
	use:   "[COMMAND] RESOURCE... --image IMAGE [flags]",
	short: "Print manifests that run a command line in a cluster",
	long: `Print manifests that run a dwatch command line in the cluster permanently, ready
for kubectl apply -f -, and end: a StatefulSet with probes and a volume for
state, minimal roles and a NetworkPolicy. --monitoring adds alerts. The command
line follows, with its flags: COMMAND is send, serve or record. Without COMMAND,
the pod watches RESOURCE. In the pod, dwatch writes files to the volume, and
reads files from a Secret, which is not printed.`,
	examples: `  # Deliver the events of deployments permanently
  %[1]s manifests send deploy -A --to https://broker.example.com --state file \
      --image registry.example.com/dwatch:v1 | kubectl apply -f -

  # Write a kustomize base for a page behind a proxy
  %[1]s manifests serve deploy,po -A --addr :8080 --serve-insecure \
      --image registry.example.com/dwatch:v1 --kustomize base

  # Write values for the Helm chart of a release
  %[1]s manifests send -f rules.yaml --state kept --helm-values \
      --image registry.example.com/dwatch:v1 >values.yaml
`,
	mainFlags: []string{"image", "name", "into", "kustomize", "helm-values", "monitoring", "volume-per-pod", "memory", "cpu", "api-port", "namespace", "all-namespaces"},
	wrap:      newManifestsOptions,
	wrapped:   []string{"serve", "send", "record"},
}
