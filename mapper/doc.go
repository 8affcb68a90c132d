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
// A Mapper asks the server when it must: two requests, at the same time, for the first name and
// none for the next ones. A name that is unknown to what was learned before costs one more look, so
// a definition made meanwhile is found. [Mapper.Reset] makes the next call look again.
//
// A group whose server does not answer hides only its own resources: each [Answer] says which did
// not, and so does the error if the name is not found among the others.
//
// All methods may be called by several goroutines. Whatever waits ends with its context.
package mapper
