// Package upgrade tests upgrades and downgrades: a run of dwatch is ended as by a rollout, and another version continues
// with its files. The other version is the last tag. If there is no tag, each test names a commit. It is built from the
// history of the repository, which a shallow clone lacks.
package upgrade
