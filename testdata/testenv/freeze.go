//go:build !windows

package testenv

import "syscall"

// Freeze stops the cluster's process until Thaw. Its connections stay open, and it answers nothing.
func (c *Cluster) Freeze() error { return c.child.Process.Signal(syscall.SIGSTOP) }

// Thaw resumes a frozen cluster.
func (c *Cluster) Thaw() error { return c.child.Process.Signal(syscall.SIGCONT) }
