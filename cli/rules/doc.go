// Package rules reads the file of dwatch send -f. Each of its rules is a command line of dwatch send.
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
// The members of a rule are name, resources, command, and the flags of dwatch send by their names. So the command line's own
// checks apply to rules. Secrets are read from files, as on the command line. Flags that concern the whole process are not
// allowed in a rule, nor are some others, such as --from. The caller passes the known flags.
package rules
