// Package upgrade is there for its tests: a run of dwatch is ended as a rollout ends it, and another version goes on
// with what it has left. The other version is that of the last tag; while there is none, the commit before what is
// written changed last. It is built from the repository's history, so a shallow clone has not got it.
package upgrade
