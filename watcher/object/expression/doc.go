// Package expression evaluates conditions on events. Conditions are CEL expressions, as in
// Kubernetes itself. Use [Compile], then [Expression.Matches] for each event. Conditions on
// current objects use [CompileForObjects] and [Expression.MatchesObject]. The user
// documentation is docs/reference/expressions.md.
//
//	text -> environment (shared) -> checked AST -> program, Requirements
//	event -> Input: object, old, changes, each decoded on first use
//
// Objects are decoded lazily: an expression finds the fields that it reads in the JSON text.
// Functions that need a whole object, such as status(), decode it once for all expressions
// that use the same Input.
//
// An expression that reads a missing field, a missing item or any field of a null old does
// not match. That is not an error. All other evaluation errors are mistakes in the
// expression and have type [*Error]. Their messages contain types but never values, because
// an object may be a Secret.
//
// Every evaluation has a cost limit. The cost of potentially expensive calls is estimated
// before they run.
package expression
