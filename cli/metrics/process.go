package metrics

import (
	"runtime"
	runtimemetrics "runtime/metrics"
	"time"
)

// goMetrics are those of the Go runtime, with the names that client_golang gives them.
var goMetrics = []struct{ runtime, name, kind, help string }{
	{"/sched/goroutines:goroutines", "go_goroutines", gauge, "Number of goroutines that currently exist."},
	{"/sched/gomaxprocs:threads", "go_sched_gomaxprocs_threads", gauge, "The current GOMAXPROCS setting."},
	{"/memory/classes/heap/objects:bytes", "go_memstats_heap_alloc_bytes", gauge, "Number of heap bytes allocated and currently in use."},
	{"/memory/classes/total:bytes", "go_memstats_sys_bytes", gauge, "Number of bytes obtained from system."},
	{"/gc/heap/allocs:bytes", "go_memstats_alloc_bytes_total", counter, "Total number of bytes allocated, even if freed."},
	{"/gc/cycles/total:gc-cycles", "go_gc_cycles_total_gc_cycles_total", counter, "Count of all completed GC cycles."},
}

// writeGo writes how the Go runtime is.
func writeGo(p *page) {
	p.family("go_info", gauge, "Information about the Go environment.")(1, "version", runtime.Version())
	samples := make([]runtimemetrics.Sample, len(goMetrics))
	for i, m := range goMetrics {
		samples[i].Name = m.runtime
	}
	runtimemetrics.Read(samples)
	for i, m := range goMetrics {
		if v := samples[i].Value; v.Kind() == runtimemetrics.KindUint64 {
			p.one(m.name, m.kind, m.help, float64(v.Uint64()))
		}
	}
}

// writeProcess writes what the process takes, as far as the system says, with the names
// that client_golang gives that.
func writeProcess(p *page, started time.Time) {
	p.one("process_start_time_seconds", gauge, "Start time of the process since unix epoch in seconds.", seconds(started))
	if cpu, ok := cpuTime(); ok {
		p.one("process_cpu_seconds_total", counter, "Total user and system CPU time spent in seconds.", cpu.Seconds())
	}
	if resident, ok := residentMemory(); ok {
		p.one("process_resident_memory_bytes", gauge, "Resident memory size in bytes.", resident)
	}
	if open, ok := openFiles(); ok {
		p.one("process_open_fds", gauge, "Number of open file descriptors.", open)
	}
}
