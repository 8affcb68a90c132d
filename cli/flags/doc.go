// Package flags has the flags of the commands, in groups: what a person types becomes
// values of the types that the rest of the program takes. To parse touches nothing but
// the file of a template, and asks no server; its errors are wrong usage.
//
// A command has the groups that mean something to it, so a flag can't be where it has no
// effect, and two flags are compared with each other only where a command has both.
package flags
