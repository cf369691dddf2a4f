package main

import (
	"os"
	"runtime/debug"
	"strconv"
	"strings"
)

// setMemoryLimits lets the garbage collector run less often than by default,
// where it takes about half of a call's time, and puts a ceiling on the heap
// that pays for it: nine tenths of the memory limit of this control group.
// GOGC and GOMEMLIMIT win where the operator has set them.
func setMemoryLimits() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		if limit, ok := cgroupMemoryLimit(); ok {
			debug.SetMemoryLimit(limit / 10 * 9)
		}
	}
}

func cgroupMemoryLimit() (int64, bool) {
	for _, file := range []string{
		"/sys/fs/cgroup/memory.max",                   // version 2
		"/sys/fs/cgroup/memory/memory.limit_in_bytes", // version 1
	} {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		// Version 1 shows no limit as a number near the largest there is.
		if err == nil && limit > 0 && limit < 1<<60 {
			return limit, true
		}
	}
	return 0, false
}
