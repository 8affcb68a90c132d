// Package expression evaluates conditions for events, which are expressions in CEL, the
// language of Kubernetes' own: [Compile], then [Expression.Holds] for each event. For
// objects as they are: [CompileForObjects], [Expression.HoldsOf]. docs/expressions.md is
// what users read.
//
//	text -> environment (once) -> checked AST -> program, Needs
//	event -> Input: object, old, changes, each decoded when it is asked for
//
// Objects are not decoded: a value is found in the JSON text when an expression looks
// at it. What takes the whole object (status, changes) decodes it once for all
// expressions that look at one Input.
//
// What is not there does not hold, and is no error: a field, an item, anything of old
// where that is null. All other errors are mistakes of the expression: [*Error]. They
// say types, never values, which may be those of a Secret.
//
// No expression takes long: each evaluation has a budget, and what could take much in
// one step is counted before it is done.
package expression
