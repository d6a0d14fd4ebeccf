package main_test

import (
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// helperVariable makes the test program be a command that tells the signals it
// gets: "helper CODE SIGNAL...". A shell would do for that, if it were not
// busy with children that the same signals end or stop.
const helperVariable = "FENCEHOLD_TEST_HELPER"

// helper writes its number to the file up, prints each signal and how often it
// came, makes a file named after it, and ends with its code once there is a
// file stop.
func helper() int {
	words := strings.Fields(os.Getenv(helperVariable))
	code, _ := strconv.Atoi(words[0])
	signals := make(chan os.Signal, 10)
	for _, word := range words[1:] {
		n, _ := strconv.Atoi(word)
		signal.Notify(signals, syscall.Signal(n))
	}
	os.WriteFile("up", fmt.Appendln(nil, os.Getpid()), 0o644)
	fmt.Println("ready")
	seen := map[os.Signal]int{}
	tick := time.NewTicker(10 * time.Millisecond)
	for {
		select {
		case sig := <-signals:
			seen[sig]++
			fmt.Println("seen", int(sig.(syscall.Signal)), seen[sig])
			os.WriteFile("got"+strconv.Itoa(int(sig.(syscall.Signal))), nil, 0o644)
		case <-tick.C:
			if _, err := os.Stat("stop"); err == nil {
				return code
			}
		}
	}
}

// helper returns the command line of a helper in the box.
func (b *box) helper(code int, signals ...syscall.Signal) []string {
	b.t.Helper()
	self, err := os.Executable()
	if err != nil {
		b.t.Fatal(err)
	}
	words := []string{strconv.Itoa(code)}
	for _, sig := range signals {
		words = append(words, strconv.Itoa(int(sig)))
	}
	return []string{"env", helperVariable + "=" + strings.Join(words, " "), self}
}

// line is a command line for a shell.
func line(words []string) string { return "'" + strings.Join(words, "' '") + "'" }
