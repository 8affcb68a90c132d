// Package rules reads the file of dwatch send -f: rules, each of which is a command line of dwatch send.
//
//	apiVersion: dwatch/v1alpha1
//	kind: Rules
//	rules:
//	- name: rollouts
//	  resources: [deploy, rs, po]
//	  all-namespaces: true
//	  where: newimage
//	  settle: 30s
//	  to-file: /secrets/slack
//	  template: slack
//	- name: jobs
//	  resources: [jobs]
//	  namespace: [batch]
//	  command: [./hook.sh]
//
// The members of a rule are the flags of dwatch send, by their names, and name, resources and command: so
// a rule takes what a command line takes, and is checked by what checks that. What is secret is in files, as
// it is there. Flags of the process (Process) are none of a rule.
//
// # How it is to go on
//
// This package is read by nobody yet. What is to come, and stands on it:
//
// Parsing: for each rule a sendFlags of its own, whose FlagSet gets Rule.Arguments, and whose parse makes a
// watching with a delivery; its errors are said behind Rule.Where. That is all that --check does, and it makes a
// second validation of anything superfluous. Rule.Options are what a cluster would be asked with: those that
// change what is watched (selectors, field selectors) make rules share no watch.
//
// Watching: one session plans the resources of all rules; targets are shared by event.Key, and what one of all
// namespaces covers is not watched again. needs are those of all rules together.
//
// Events: the watcher's Sink gives each batch to a chain for each rule: what is of its targets (and nothing
// else: Target.Key and Covers), a watcher/ledger of the rule, then watcher/settle, watcher/resume, watcher/filter
// and its queue. With the ledger, which is restored from the part of the rule, an event is Added, Modified or
// nothing for each rule by what that has reported, so that the watcher has no Past but begins with what exists.
// The chain of a rule whose queue is full must not hold up the others: it runs in a goroutine of its own, with
// the batches that wait for it; where these are too many, the rule has fallen behind: it lets go of its batches, and
// is brought up to the present by a relist through its ledger (states in between are missing, and that is said).
//
// State: the file has a part for each rule, as it has one for each of several clusters (clustersBucket,
// Join): targets behind the name of the rule, an outbox for each (outboxBucket with a bucket of that name).
//
// Reading again: the file is looked at every second by its content, which finds a swapped symlink of a ConfigMap
// as well. A rule that is the same (Rule.Equal) goes on untouched. One that is new, or changed, begins at a
// relist of its targets; one that has gone is finished as at the end of a run. A file that is wrong is said once, and
// changes nothing.
package rules
