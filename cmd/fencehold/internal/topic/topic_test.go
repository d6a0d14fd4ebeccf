package topic_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/BurntSushi/toml"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/topic"
)

// TestConfigExample: the example of the help is a file that can be read, and has
// every key.
func TestConfigExample(t *testing.T) {
	t.Parallel()
	var example strings.Builder
	for line := range strings.Lines(topic.Config) {
		if text, ok := strings.CutPrefix(line, "  "); ok {
			example.WriteString(text)
		}
	}
	var got map[string]any
	if _, err := toml.Decode(example.String(), &got); err != nil {
		t.Fatalf("%v:\n%s", err, example.String())
	}
	for _, key := range []string{"default_profile", "url", "ttl", "kill_after", "owner", "password_file", "log_format"} {
		if got[key] == nil {
			t.Errorf("no example for %s", key)
		}
	}
	if profiles, _ := got["profile"].(map[string]any); profiles[got["default_profile"].(string)] == nil {
		t.Errorf("no example for a profile: %v", got)
	}
}

// TestWidth: the pages fit a terminal.
func TestWidth(t *testing.T) {
	t.Parallel()
	for _, page := range []string{topic.ExitCodes, topic.URLs, topic.Redis, topic.Redlock, topic.Env, topic.Config} {
		for line := range strings.Lines(page) {
			if utf8.RuneCountInString(strings.TrimSpace(line)) > 90 || strings.Contains(line, "\t") {
				t.Errorf("line is too wide, or has a tab: %q", line)
			}
		}
	}
}

// rules are the rules for the user in a text. What begins its lines is left out.
func rules(t *testing.T, text string) []string {
	t.Helper()
	_, rest, found := strings.Cut(text, "ACL SETUSER locks on >PASSWORD ")
	list, _, ended := strings.Cut(strings.ReplaceAll(rest, "//", ""), "\n\n")
	if !found || !ended {
		t.Fatalf("no user in %q", text)
	}
	return strings.Fields(list)
}

// TestRedisRules: the help gives a user the rights that the package documents.
func TestRedisRules(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("../../../../redislock/doc.go")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := rules(t, topic.Redis), rules(t, string(source)); !slices.Equal(got, want) {
		t.Errorf("the help has %q, the package %q", got, want)
	}
}
