//go:build !linux

package main

import (
	"errors"
	"os"
	"time"
)

func cpuTime(int) (time.Duration, error) { return 0, errors.ErrUnsupported }

func ownTime() (time.Duration, error) { return 0, errors.ErrUnsupported }

func enlarge(*os.File, int) error { return errors.ErrUnsupported }
