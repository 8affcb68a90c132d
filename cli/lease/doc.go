// Package lease elects one of several replicas by means of a Kubernetes Lease.
//
// # Contract
//
// An Election takes part for one replica, using client-go's leader elector. Its State is derived from the Leases that it
// has read and written.
//
// Truth: a replica holds the Lease for RenewDeadline after it began its last successful write. Other replicas wait for
// Duration, which is longer. The time is checked with the monotonic clock, which may stop while the machine sleeps, and
// with the wall clock, which may be set. When the time has passed, the Term is unconfirmed: its contexts are canceled, and
// HeldContext waits until the Lease is renewed. If no other client has written the Lease in the meantime, the Term
// continues. Otherwise it ends for good.
//
// Blocking: a request to the server takes at most two seconds. When its context ends, Run releases the Lease if the replica
// holds it, and returns.
package lease
