//go:build unix

package console

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestUntilReaderGone(t *testing.T) {
	t.Run("closed", func(t *testing.T) {
		read, write := pipe(t)
		ctx, stop := UntilReaderGone(t.Context(), write)
		defer stop()
		read.Close()
		<-ctx.Done()
		if cause := context.Cause(ctx); !errors.Is(cause, ErrReaderGone) {
			t.Error(cause)
		}
	})
	t.Run("not closed", func(t *testing.T) {
		_, write := pipe(t)
		ctx, stop := UntilReaderGone(t.Context(), write)
		stop() // returns
		if cause := context.Cause(ctx); errors.Is(cause, ErrReaderGone) {
			t.Error(cause)
		}
	})
	t.Run("file", func(t *testing.T) {
		file, err := os.Create(filepath.Join(t.TempDir(), "out"))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		ctx, stop := UntilReaderGone(t.Context(), file)
		stop()
		if cause := context.Cause(ctx); errors.Is(cause, ErrReaderGone) {
			t.Error(cause)
		}
	})
}

func pipe(t *testing.T) (read, write *os.File) {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		read.Close()
		write.Close()
	})
	return read, write
}

func TestIsReaderGone(t *testing.T) {
	read, write := pipe(t)
	read.Close()
	_, err := Stdout{File: write}.Write([]byte("x"))
	if !IsReaderGone(fmt.Errorf("print: %w", err)) {
		t.Errorf("%v is not taken for the reader's end", err)
	}
	// The server closed a connection while a request was being written.
	broken := &net.OpError{Op: "write", Net: "tcp", Err: os.NewSyscallError("write", syscall.EPIPE)}
	if IsReaderGone(broken) {
		t.Errorf("%v is taken for the reader's end", broken)
	}
}
