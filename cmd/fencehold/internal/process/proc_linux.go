package process

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// All lists the processes that /proc shows. One that ends during the scan may
// be missing.
func All() ([]Stat, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	stats := make([]Stat, 0, len(names))
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		// One that ended since the names were read is as good as never seen.
		if s, err := ReadStat(pid); err == nil {
			stats = append(stats, s)
		}
	}
	return stats, nil
}

// ReadStat looks at one process.
func ReadStat(pid int) (Stat, error) {
	line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return Stat{}, err
	}
	return parseStat(line)
}

// parseStat reads a line of /proc/PID/stat: "PID (NAME) STATE PPID PGRP SESSION
// ...", with the number of threads at place 20 and the start at 22. NAME may
// hold blanks and parentheses.
func parseStat(line []byte) (Stat, error) {
	// The last parenthesis ends the name: none comes after it in the line.
	open, end := bytes.IndexByte(line, '('), bytes.LastIndexByte(line, ')')
	if open < 0 || end < open {
		return Stat{}, fmt.Errorf("process line %q: no name in parentheses", line)
	}
	var s Stat
	var err error
	if s.PID, err = strconv.Atoi(string(bytes.TrimSpace(line[:open]))); err != nil {
		return Stat{}, fmt.Errorf("process line %q: %w", line, err)
	}
	fields := bytes.Fields(line[end+1:])
	if len(fields) < 20 || len(fields[0]) != 1 {
		return Stat{}, fmt.Errorf("process line %q: too few fields", line)
	}
	s.State = fields[0][0]
	for i, to := range map[int]*int{1: &s.Parent, 2: &s.Group, 3: &s.Session, 17: &s.Threads, 19: &s.Start} {
		if *to, err = strconv.Atoi(string(fields[i])); err != nil {
			return Stat{}, fmt.Errorf("process line %q: %w", line, err)
		}
	}
	return s, nil
}
