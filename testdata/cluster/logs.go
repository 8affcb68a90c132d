package main

import (
	"fmt"
	"io"
	"log"
	"os"
	"runtime/debug"
	"sync/atomic"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"golang.org/x/sys/unix"
	"k8s.io/klog/v2"
)

// componentLog receives the logs of all components once redirectLogs ran.
var componentLog io.Writer = io.Discard

// userStderr is what the user sees as stderr, now and once redirectLogs ran.
var userStderr = os.Stderr

// redirectLogs sends everything the components log to file, by default
// cluster.log among the data. From then on file descriptor 2 and os.Stdout
// belong to the components: some of them hold on to stderr since they were
// loaded, so that no setting of theirs would do.
func redirectLogs(file string, data *dataDir) error {
	if file == "" {
		file = data.path("cluster.log")
	}
	out, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("cannot open the log: %w", err)
	}
	componentLog = out
	log.SetOutput(out)
	if err := redirectOutput(out); err != nil {
		return fmt.Errorf("cannot redirect output to the log: %w", err)
	}
	onGiveUp = func() {
		fmt.Fprintln(userStderr, "cluster: a component gave up; --log FILE keeps its reason")
		data.close()
		os.Exit(1)
	}
	klog.OsExit = func(int) { giveUp() }
	return nil
}

// redirectOutput sends what is written to stderr and to os.Stdout to out, but
// for crashes, which the user should see even if the log goes with the data.
func redirectOutput(out *os.File) error {
	kept, err := unix.Dup(2)
	if err != nil {
		return err
	}
	userStderr = os.NewFile(uintptr(kept), "stderr")
	if err := debug.SetCrashOutput(userStderr, debug.CrashOptions{}); err != nil {
		return err
	}
	os.Stdout = out
	return unix.Dup2(int(out.Fd()), 2)
}

// stopping is set before the components are stopped.
var stopping atomic.Bool

// onGiveUp cleans up and ends the process.
var onGiveUp func()

// giveUp ends the process for a component that cannot continue. Several components may call it at the same time. If the
// components are being stopped, it only blocks until the process ends, because a failure is expected then.
func giveUp() {
	if stopping.Swap(true) {
		select {}
	}
	onGiveUp()
}

// zapGiveUp is giveUp in the form that zap asks for.
type zapGiveUp struct{}

func (zapGiveUp) OnWrite(*zapcore.CheckedEntry, []zapcore.Field) { giveUp() }

// zapLogger returns a logger, as etcd wants it, into the log of the components.
func zapLogger() *zap.Logger {
	encoder := zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig())
	core := zapcore.NewCore(encoder, zapcore.AddSync(componentLog), zap.InfoLevel)
	return zap.New(core, zap.WithFatalHook(zapGiveUp{}))
}
