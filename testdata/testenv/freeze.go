//go:build !windows

package testenv

import "syscall"

// Freeze has the cluster do nothing, so that it holds its connections and answers nothing, until Thaw.
func (c *Cluster) Freeze() error { return c.child.Process.Signal(syscall.SIGSTOP) }

// Thaw has it go on.
func (c *Cluster) Thaw() error { return c.child.Process.Signal(syscall.SIGCONT) }
