//go:build !linux

package resume

import bolt "go.etcd.io/bbolt"

// release does nothing, because releasing mapped pages is only known to be safe on Linux.
func release(*bolt.Tx) {}
