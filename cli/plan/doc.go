// Package plan determines the targets to watch from the arguments and flags: at the start, and again
// whenever the resources of the server may have changed.
//
// A plan has one target for each resource, namespace and name. A target that is covered by a wider one
// is left out. The name of a single resource always refers to the resource to which it was first
// resolved, even if another resource with this name is added later.
package plan
