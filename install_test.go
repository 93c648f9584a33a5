//go:build unix

package piton_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/piton-dev/piton/internal/tier"
)

// archive is a release's file that holds a program called name.
func archive(t *testing.T, name, program string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for file, text := range map[string]string{name: program, "README.md": "read me\n"} {
		if err := w.WriteHeader(&tar.Header{Name: file, Mode: 0o755, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// tools is a directory with these programs of this machine, for a PATH of nothing else.
func tools(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range append([]string{"sh", "uname", "mktemp", "rm", "mkdir", "grep", "cut", "wc", "tar", "gzip", "chmod", "cp", "mv"}, names...) {
		path, err := exec.LookPath(name)
		tier.Needs(t, err)
		if err := os.Symlink(path, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// install.sh installs what the checksum says, and nothing else.
func TestInstall(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("the programs that it needs are elsewhere")
	}
	const program = "#!/bin/sh\necho piton 0.3.0\n"
	system := runtime.GOOS + "_" + runtime.GOARCH
	good, hollow := archive(t, "piton", program), archive(t, "other", program)
	sums := func(files map[string][]byte) (text string) {
		for name, body := range files {
			sum := sha256.Sum256(body)
			text += fmt.Sprintf("%s  %s\n", hex.EncodeToString(sum[:]), name)
		}
		return text
	}
	name := "piton_0.3.0_" + system + ".tar.gz"
	right := sums(map[string][]byte{name: good, "piton_0.3.0_plan9_mips.tar.gz": hollow})
	usual := []string{"curl", "sha256sum"}
	for _, c := range []struct {
		what    string
		tools   []string
		files   map[string]string // by path on the server
		version string
		says    string // "" where it is installed
	}{
		{"the newest", usual, map[string]string{"latest/download/checksums.txt": right, "latest/download/" + name: string(good)}, "", ""},
		{"a version", usual, map[string]string{"download/v0.3.0/checksums.txt": right, "download/v0.3.0/" + name: string(good)}, "v0.3.0", ""},
		{"with wget", []string{"wget", "sha256sum"}, map[string]string{"latest/download/checksums.txt": right, "latest/download/" + name: string(good)}, "", ""},
		{"without both", []string{"sha256sum"}, nil, "", "neither curl nor wget is here"},
		{"without a hash", []string{"curl"}, map[string]string{"latest/download/checksums.txt": right, "latest/download/" + name: string(good)}, "", "cannot be verified"},
		{"another file", usual, map[string]string{"latest/download/checksums.txt": right, "latest/download/" + name: string(hollow)}, "", "nothing was installed"},
		{"half a file", usual, map[string]string{"latest/download/checksums.txt": right, "latest/download/" + name: string(good[:len(good)/2])}, "", "nothing was installed"},
		{"no file", usual, map[string]string{"latest/download/checksums.txt": right}, "", "cannot download"},
		{"no file, with wget", []string{"wget", "sha256sum"}, map[string]string{"latest/download/checksums.txt": right}, "", "cannot download"},
		{"no checksums", usual, map[string]string{"latest/download/" + name: string(good)}, "", "cannot download"},
		{"not for this system", usual, map[string]string{"latest/download/checksums.txt": sums(map[string][]byte{"piton_0.3.0_plan9_mips.tar.gz": good})}, "", "no file for"},
		{"twice for this system", usual, map[string]string{"latest/download/checksums.txt": right + sums(map[string][]byte{"piton_0.4.0_" + system + ".tar.gz": good})}, "", "more than one file"},
		{"a path in a name", usual, map[string]string{"latest/download/checksums.txt": strings.ReplaceAll(right, "piton_", "../piton_")}, "", "no file for"},
		{"without the program", usual, map[string]string{"latest/download/checksums.txt": sums(map[string][]byte{name: hollow}), "latest/download/" + name: string(hollow)}, "", "does not hold the program"},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, ok := c.files[strings.TrimPrefix(r.URL.Path, "/")]
				if !ok {
					http.NotFound(w, r)
					return
				}
				w.Write([]byte(body)) //nolint:errcheck // the client says so
			}))
			defer server.Close()
			bin := filepath.Join(t.TempDir(), "a b", "bin")
			install := exec.Command("/bin/sh", "install.sh")
			install.Env = []string{"PATH=" + tools(t, c.tools...), "HOME=" + t.TempDir(), "PITON_BIN=" + bin, "PITON_RELEASES=" + server.URL, "PITON_VERSION=" + c.version, "TMPDIR=" + t.TempDir()}
			out, err := install.CombinedOutput()
			have, _ := os.ReadFile(filepath.Join(bin, "piton"))
			left, _ := filepath.Glob(filepath.Join(bin, ".*"))
			switch {
			case c.says != "" && (err == nil || !strings.Contains(string(out), c.says) || have != nil):
				t.Errorf("%v: %s; %q is installed", err, out, have)
			case c.says == "" && (err != nil || string(have) != program || !strings.Contains(string(out), "piton 0.3.0")):
				t.Errorf("%v: %s; %q is installed", err, out, have)
			case len(left) > 0:
				t.Errorf("it left %v", left)
			}
		})
	}
}

// A script that was cut off on its way does nothing.
func TestInstallCutOff(t *testing.T) {
	text, err := os.ReadFile("install.sh")
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.TrimSuffix(bytes.TrimSpace(text), []byte("main"))
	install := exec.Command("/bin/sh")
	install.Stdin, install.Env = bytes.NewReader(text), []string{"PATH=/nowhere"}
	if out, err := install.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v: %s", err, out)
	}
}

// shellcheck finds nothing in the scripts of a release.
func TestInstallIsClean(t *testing.T) {
	t.Parallel()
	check, err := exec.LookPath("shellcheck")
	tier.Needs(t, err)
	if out, err := exec.Command(check, "install.sh", ".ci/release-files").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
