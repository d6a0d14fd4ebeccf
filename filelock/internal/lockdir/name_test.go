package lockdir_test

import (
	"path/filepath"
	"strings"
	"testing"
	"testing/quick"

	"github.com/fencehold/fencehold/filelock/internal/lockdir"
)

func TestFileNamesAreDistinct(t *testing.T) {
	dir, err := lockdir.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	fileName := func(name string) string {
		file, inside := strings.CutPrefix(dir.LockPath(name), dir.Path()+string(filepath.Separator))
		if !inside {
			t.Errorf("the file of %q is %s, not in %s", name, dir.LockPath(name), dir.Path())
		}
		return file
	}
	names := map[string]string{}
	for _, name := range []string{
		"a", "A", "%61", "a%", "%~", ".", "..", "a.", ".a",
		strings.Repeat("a", 300), strings.Repeat("a", 301),
	} {
		file := fileName(name)
		if other, taken := names[file]; taken {
			t.Errorf("%q and %q are both %s", name, other, file)
		}
		names[file] = name
	}
	roundTrip := func(raw []byte) bool {
		name := strings.ToValidUTF8(string(raw), "?")
		if lockdir.CheckName(name) != nil {
			return true
		}
		file := fileName(name)
		back, known := lockdir.LockName(file)
		return len(file) <= 255 && !strings.ContainsAny(file, "/\x00") && file[0] != '.' &&
			(back == name || !known && strings.Contains(file, "%~"))
	}
	if err := quick.Check(roundTrip, &quick.Config{MaxCount: 5000}); err != nil {
		t.Error(err)
	}
}
