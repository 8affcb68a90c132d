// Package mapper turns what people type into what the server serves, as kubectl
// does: short names, plurals, singulars and kinds, alone or followed by
// .group or .version.group, and categories such as "all".
//
// # Contract
//
// What can't be watched is not there. A resource counts only if it allows list and watch, so a name
// never resolves to one that doesn't while another one can be watched.
//
// The same name gives the same answer as long as the server serves the same. Of several resources
// the core group wins, then the first group in the server's own order, and in it the version the
// server prefers.
//
// A Mapper asks the server when it must and not otherwise: two requests, at the same time, for the
// first name and none for the next ones. A fully qualified name, such as deployments.v1.apps or
// pods.v1., is no different: it says neither kind nor scope. A name that is unknown to what was
// learned before costs one more look at the server, so a definition made meanwhile is found.
// [Mapper.Reset] makes the next call look again, for a caller who finds that a resource has gone.
//
// [Mapper.Resolve] answers all there is to know of a name, from one look. A group whose server does
// not answer hides only its own resources: each [Answer] says which groups did not answer, and so
// does the error if the name is not found among the others.
//
// All methods may be called by several goroutines. Whatever waits ends with its context. No method
// prints or logs what it returns as an error. [ParseArguments] is a pure function.
package mapper
