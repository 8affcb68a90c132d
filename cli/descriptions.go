package cli

// streamDescription is of dwatch itself.
var streamDescription = description{
	name:  "dwatch",
	use:   "[-r RESOURCE]... [TYPE[,TYPE...] [NAME...] | TYPE/NAME...] [flags]",
	short: "Watch any Kubernetes resource",
	long: `Watch any resource of a Kubernetes cluster and see each change.

At a terminal it shows each change and which program made it. In a pipe it
prints {"type":"ADDED","object":{...}}, MODIFIED and DELETED; existing objects
come first, with "initial":true. It resumes a lost connection.

Name resources as with kubectl: po, pods/web-1, deploy,sts, or a category (all).`,
	examples: `  # What changes among the deployments of a namespace
  %[1]s deployments -n default

  # What happened in the last two hours, as far as the cluster remembers
  %[1]s deploy,cm,po -A --since 2h

  # As JSON to a program: the names of what is deleted
  %[1]s jobs -A | jq -r 'select(.type=="DELETED") | .object.metadata.name'

  # Only what an expression is true of: a new image, and who set it
  %[1]s deploy,sts,ds -A --where "changed('..image')"

  # What is said of a deployment and of what it owns
  %[1]s events --for deploy/web

  # In a CI job: exit code 0 if it rolls out, 3 if that fails, 124 if it is late
  %[1]s wait deploy/web --timeout 5m
`,
	options: func() options { return new(streamOptions) },
}

var listDescription = description{
	name:  "list",
	use:   "RESOURCE... [flags]",
	short: "Print what exists, and end",
	long: `Print what exists as one List, or as a table, and end. It prints all or nothing:
half a List would look like a whole one.`,
	examples: `  # What exists, as one List
  %[1]s list cm,secrets -n kube-system -o yaml

  # As a table, the oldest first
  %[1]s list pods -A -o wide --sort-by .metadata.creationTimestamp

  # One value of each object
  %[1]s list pods -o jsonpath='{range .items[*]}{.metadata.name}{"\n"}{end}'
`,
	options: func() options { return &listOptions{common: common{listOnly: true}} },
}

var liveDescription = description{
	name:  "live",
	use:   "RESOURCE... [flags]",
	short: "Show what exists as a table that changes in place",
	long: `Show what exists at the terminal, as a table that changes in place. What has
failed or is not ready stands first. Its keys are on the screen, and ? explains
them.`,
	examples: `  # A rollout, as it happens
  %[1]s live deploy,rs,po

  # Only what is not ready, in all namespaces
  %[1]s live pods -A --where '!ready(object)'

  # What was there at five to three, of a recording, and from change to change
  %[1]s live deploy,po --from rec --at 02:55
`,
	options: func() options { return new(liveOptions) },
}

var serveDescription = description{
	name:  "serve",
	use:   "RESOURCE... [flags]",
	short: "Serve a page that shows what exists and what changes",
	long: `Serve a page that shows what exists and what changes, for people without
kubectl. Its URL, with a token in it, is printed on stderr. It keeps all content
in memory.`,
	examples: `  # A page on this machine, in the browser
  %[1]s serve deploy,rs,po -A --open

  # A recording, with a slider for the time
  %[1]s serve deploy,po --from rec --at 02:55

  # For others, by TLS
  %[1]s serve deploy,po --addr :8443 --tls-cert cert.pem --tls-key key.pem
`,
	options: func() options { return new(serveOptions) },
}

var sendDescription = description{
	name:  "send",
	use:   "RESOURCE... --to URL [flags]\n  PATH RESOURCE... [flags] -- COMMAND [ARG...]\n  PATH -f RULES [flags]\n  PATH --redeliver FILE [flags] --to URL | -- COMMAND [ARG...]",
	short: "Deliver each event to a webhook, NATS, Kafka, or a command",
	long: `Deliver each event to a webhook, NATS, Kafka or a command, and retry until it is
accepted. Existing objects come first, as ADDED with "initial":true;
--watch-only leaves them out. Values of Secrets are masked unless --show-secrets
is given. The events of one object stay in order. With --state, pending events
survive a restart, which then sends only what changed.`,
	examples: `  # A webhook, which gets each event as a CloudEvent, until it answers with 2xx
  %[1]s send jobs -A --to https://broker.example.com --to-token-file token

  # A stream of NATS JetStream, across restarts of dwatch
  %[1]s send deploy,sts -A --to nats://nats.example.com/k8s --state file

  # A command for each event, which gets it on stdin, and again if it fails
  %[1]s send jobs -A -- ./hook.sh

  # Each rollout as one message to a chat, when it is done or has failed
  %[1]s send deploy,rs,po -A --settle 30s --to-file slack-url --template slack

  # Several at once, each with resources and a receiver of its own
  %[1]s send -f rules.yaml --state directory

  # What was given up, once more
  %[1]s send --redeliver failed.jsonl --to https://broker.example.com

  # What was recorded in two hours, again, with the same ids
  %[1]s send jobs -A --from rec --since 2h --to https://broker.example.com
`,
	options: func() options { return new(sendOptions) },
}

var recordDescription = description{
	name:  "record",
	use:   "DIR RESOURCE... [flags]",
	short: "Record what happens, to ask for it later",
	long: `Record all that happens to resources into a directory, with managed fields, until
you end it; the next run goes on from there. --from DIR then asks the recording in
place of a cluster, and each answer says of which times it knows nothing. Values
of Secrets are recorded as size and hash, unless told otherwise. A run that is
killed has lost its last second.`,
	examples: `  # All resources of the cluster, for a month, in at most 10 GiB
  %[1]s record rec '*' -A --keep 30d --max-size 10Gi

  # What changed, from two hours ago to one hour ago
  %[1]s '*' -A --from rec --since 2h --before 1h

  # What was there an hour ago
  %[1]s list deploy,po -n prod --from rec --at 1h -o wide
`,
	options: func() options { return new(recordOptions) },
}

var diffDescription = description{
	name:  "diff",
	use:   "RESOURCE... --from DIR --at TIME | -n A,B | --context A,B [flags]",
	short: "Show what is different between two times, or two clusters",
	long: `Compare what was there at two times of a recording, whatever happened between
them: for each object that is not the same one change, with who made it, as far
as its managed fields say. Where one of the times is not known, nothing is
printed, and the exit code is 4.

Or compare the same objects of several clusters with those of the first, or of
two namespaces, without what each of them makes for itself (docs/clusters.md).`,
	examples: `  # What is different now from an hour ago
  %[1]s diff deploy,cm -n prod --from rec --at 1h

  # Between two times, of the spec alone
  %[1]s diff deploy -A --from rec --at 02:00 --before 03:00 --only spec

  # Between two clusters
  %[1]s diff deploy/web --context staging,prod

  # Between two namespaces
  %[1]s diff deploy,cm,secrets -n staging,prod
`,
	options: func() options { return new(diffOptions) },
}

var exportDescription = description{
	name:  "export",
	use:   "FILE [RESOURCE...] --from DIR [flags]",
	short: "Write a recording as a page into one file",
	long: `Write the page with what was recorded into one HTML file, which opens from disk,
without a server, a network or dwatch: for a colleague, or a ticket. A slider
shows each time of it: objects, changes, timeline, problems. Without
RESOURCE it has all that was recorded.

It has at most 20 MB: where that is not enough, the oldest is left out, and the
file says so, as it says when not all is known. "-" is stdout. Values of Secrets
are masked, and what was masked when it was recorded stays so.`,
	examples: `  # What happened between two and three
  %[1]s export incident.html --from rec --since 02:00 --before 03:00

  # Only of a namespace, without what a field has
  %[1]s export incident.html deploy,po,events -n prod --from rec \
      --mask ..env
`,
	options: func() options { return new(exportOptions) },
}

var waitDescription = description{
	name:  "wait",
	use:   "TYPE/NAME... [--for WHAT] [flags]",
	short: "Wait until something is ready, or fails",
	long: `Wait until what is named is ready, and say on stderr how far it is. Exit code 0:
it is; 3: it has failed; 124: --timeout passed before; 1: it could not be found
out. Without --timeout it waits for as long as it takes. What does not exist yet
is waited for, too. A type without a name stands for all of that type that
exist.

Words for --for: ready, which is what kubectl rollout status waits for, of any
kind; failed, when its status says that it has failed; changed, at the first
change after the start, or when something is added or deleted then; deleted.
Those of what happens (restarted, scaled, newimage, ...) hold at the next time.`,
	examples: `  # In a CI job: until it has rolled out, or has failed
  %[1]s wait deploy/web --timeout 5m

  # As with kubectl wait
  %[1]s wait job/migrate --for condition=Complete --timeout 10m
  %[1]s wait pod/web-1 --for jsonpath='{.status.phase}'=Running
  %[1]s wait ns/old --for delete

  # For anything that an expression can say
  %[1]s wait deploy/web --for "object.status.?updatedReplicas.orValue(0) >= 3"
`,
	options: func() options { return new(waitOptions) },
}

var rbacDescription = description{
	name:  "rbac",
	use:   "[COMMAND] RESOURCE... [flags]",
	short: "Print the smallest role that a command line needs",
	long: `Print the smallest roles that allow a command line of dwatch, with bindings for
the present user or that of --as, and end. The command line is what follows:
COMMAND is list, live, record, send, serve, top or wait; without one the stream.`,
	examples: `  # The role with which a service account may watch deployments
  %[1]s rbac deploy --as system:serviceaccount:ops:watcher

  # What it takes to deliver them, with a state file
  %[1]s rbac send deploy -A --state s --to https://broker.example.com
`,
	wrap:    newRBACOptions,
	wrapped: []string{"list", "live", "serve", "send", "record", "wait", "top"},
}

var manifestsDescription = description{
	name:  "manifests",
	use:   "[COMMAND] RESOURCE... --image IMAGE [flags]",
	short: "Print what runs a command line in a cluster",
	long: `Print the manifests that run a command line of dwatch in the cluster for as long
as it is to run, ready for kubectl apply -f -, and end: a StatefulSet with a
volume for what is kept, the smallest roles, a NetworkPolicy, probes and alerts.
The command line is what follows: COMMAND is send, serve or record; without one
it is the stream. Its files are where the pod has them: what dwatch writes is
on the volume, and what it reads comes from a Secret, which is not printed.`,
	examples: `  # Deliver what happens to the deployments, for as long as the cluster is there
  %[1]s manifests send deploy -A --to https://broker.example.com --state file \
      --image registry.example.com/dwatch:v1 | kubectl apply -f -

  # A base for kustomize, for a page behind a proxy
  %[1]s manifests serve deploy,po -A --addr :8080 --serve-insecure \
      --image registry.example.com/dwatch:v1 --kustomize base

  # With Helm, and the chart of a release
  %[1]s manifests send -f rules.yaml --state kept --helm-values \
      --image registry.example.com/dwatch:v1 >values.yaml
`,
	wrap:    newManifestsOptions,
	wrapped: []string{"serve", "send", "record"},
}
