// Package mapper resolves the resource names that users type, as kubectl does: short names,
// plurals, singulars and kinds, alone or followed by .group or .version.group, and categories
// such as "all".
//
// # Contract
//
// Only resources that allow list and watch, or another [Use], can be found. Other resources never hide them, even if they
// have the same name.
//
// The same name gives the same result as long as the server has the same resources. Categories win
// over plurals and singulars, these win over short names, and short names win over kinds. If several
// resources match in the same way, the core group wins, then the first group in the order of the
// server. Within a group, the version that the server prefers wins.
//
// The first name takes two parallel discovery requests, or more if the server does not support
// aggregated discovery. The next names take none. If a name is unknown, the Mapper repeats discovery
// once, so it finds new CRDs.
// [Mapper.Invalidate] makes the next call repeat discovery.
//
// If the server of an aggregated API group does not answer, only the resources of this group are
// missing. Each [Result] lists these groups, and so does the error if a name is not found.
//
// All methods are safe for concurrent use. Blocking calls return when their context ends.
package mapper
