// Package lease has one of several replicas work: the one that holds a Lease of Kubernetes.
//
// # Contract
//
// An Election takes part for one replica, by client-go's elector. What it knows comes from the Leases that it has read and
// written: who holds it, and in which Term this replica does.
//
// Truth: a replica holds the Lease until a time after it began the last write that succeeded, which is seconds before another one
// may take it. It goes by both clocks, of which one stands still while a machine sleeps and the other may be set. After that
// time nothing may be done in its name (Term.Try), until it was written again: the Term is in doubt. If nobody else has written it
// meanwhile, the Term goes on; if somebody has, it is over, and for good.
//
// Blocking: no question to the server takes longer than some seconds. Run returns when the Lease was given back, if it is had.
package lease
