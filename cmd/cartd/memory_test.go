package main

import (
	"runtime/debug"
	"testing"
)

// limits returns what the runtime goes by now.
func limits() (percent int, memory int64) {
	percent = debug.SetGCPercent(100)
	debug.SetGCPercent(percent)
	return percent, debug.SetMemoryLimit(-1)
}

func TestMemoryLimits(t *testing.T) {
	oldPercent, oldMemory := limits()
	t.Cleanup(func() {
		debug.SetGCPercent(oldPercent)
		debug.SetMemoryLimit(oldMemory)
	})
	const unset, operators = 1 << 40, 1 << 41
	fromGroup := int64(unset)
	if limit, ok := cgroupMemoryLimit(); ok {
		fromGroup = limit / 10 * 9
	}
	for _, test := range []struct {
		name, gogc, gomemlimit string
		percent                int
		memory                 int64
	}{
		{"nothing set", "", "", 400, fromGroup},
		{"the operator's GOGC wins", "50", "", 50, fromGroup},
		{"the operator's GOMEMLIMIT wins", "", "2TiB", 400, operators},
		{"both win", "50", "2TiB", 50, operators},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("GOGC", test.gogc)
			t.Setenv("GOMEMLIMIT", test.gomemlimit)
			// As the runtime has read the environment before main.
			debug.SetGCPercent(100)
			if test.gogc != "" {
				debug.SetGCPercent(50)
			}
			debug.SetMemoryLimit(unset)
			if test.gomemlimit != "" {
				debug.SetMemoryLimit(operators)
			}
			setMemoryLimits()
			if percent, memory := limits(); percent != test.percent || memory != test.memory {
				t.Errorf("limits = %d%%, %d bytes, want %d%%, %d", percent, memory, test.percent, test.memory)
			}
		})
	}
}
