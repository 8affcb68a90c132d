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
// it is there. Flags of the process are none of a rule. Which flags there are is told by who has them.
package rules
