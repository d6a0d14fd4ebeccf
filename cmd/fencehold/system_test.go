package main_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestSystems: the command is all there on the systems that it is for, and on
// others it is a program that says so.
func TestSystems(t *testing.T) {
	t.Parallel()
	for system, want := range map[string]string{"linux": "main.go", "darwin": "main.go", "windows": "main_other.go"} {
		cmd := exec.Command("go", "list", "-f", "{{.GoFiles}} {{len .DepsErrors}}", ".")
		cmd.Env = append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0")
		out, err := cmd.CombinedOutput()
		files := strings.Fields(strings.Trim(string(out), "[] 0\n"))
		other := len(files) == 1 && files[0] == "main_other.go"
		if err != nil || !strings.Contains(string(out), want) || other != (want == "main_other.go") ||
			!strings.HasSuffix(string(out), "] 0\n") {
			t.Errorf("%s: files %s (%v), want %s", system, out, err, want)
		}
	}
}
