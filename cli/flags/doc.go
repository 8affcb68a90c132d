// Package flags defines the flags of the commands, in groups, and parses them into the types that the rest of
// the program uses. Parsing reads only the files that flags such as --template and --to-file name, and the
// environment. It never contacts a server. Its errors are usage errors.
//
// A command adds only the groups that have an effect there. Two flags are checked against each other only if the
// command has both.
package flags
