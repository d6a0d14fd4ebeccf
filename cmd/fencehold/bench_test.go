package main_test

import (
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"
)

// BenchmarkRunOverhead runs the same command bare and under a lock, in turns,
// and reports the medians: what "run" costs is their difference.
func BenchmarkRunOverhead(b *testing.B) {
	dir := b.TempDir()
	env := append(os.Environ(), "FENCEHOLD_URL=file://"+dir)
	run := func(name string, args ...string) time.Duration {
		cmd := exec.Command(name, args...)
		cmd.Env = env
		began := time.Now()
		if err := cmd.Run(); err != nil {
			b.Fatal(err)
		}
		return time.Since(began)
	}
	var bare, locked []time.Duration
	for b.Loop() {
		bare = append(bare, run("true"))
		locked = append(locked, run(binary, "run", "bench", "--", "true"))
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(bare), "bare-ms")
	b.ReportMetric(median(locked), "run-ms")
	b.ReportMetric(median(locked)-median(bare), "overhead-ms")
}

// median is in milliseconds.
func median(times []time.Duration) float64 {
	slices.Sort(times)
	return float64(times[len(times)/2]) / float64(time.Millisecond)
}
