// Package plan turns what the command line names into targets to watch: once at
// the start, and again whenever the server may serve something else.
//
// [Planner.First] is for the start. What is wrong with the command line, as seen at
// this server, is marked by [fail.Usage]; a name that the server does not have is an error
// of package mapper; anything else is why the server could not be asked.
//
// [Planner.Resolve] is for later, and makes a [Planner] a resolver of the watcher.
// What the server does not have now is left out, and that is no error.
//
// Each resource is in a plan once for each namespace and name, and not at all if a
// wider target has it. What the name of a single resource was first taken for, it
// stays, whatever comes under that name later.
package plan
