package cli

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/piton-dev/piton/internal/lazy"
)

// A marked text is one that Piton wrote into a file of somebody else's, between two lines. The
// second has a hash of what stands between them, so that a text that somebody changed is
// known from an older one of Piton's.
const (
	markBegins = "<!-- piton setup: begins; piton setup writes it, and takes it away with --remove -->"
	markEnds   = "<!-- piton setup: ends %s -->"
)

var markedText = lazy.Regexp(`(?ms)^<!-- piton setup: begins[^\n]*-->\r?\n(.*?)^<!-- piton setup: ends ([0-9a-f]*) -->\r?\n?`)

// marked is a text between its marks.
func marked(text string) string {
	return markBegins + "\n" + text + fmt.Sprintf(markEnds, markHash([]byte(text))) + "\n"
}

func markHash(text []byte) string {
	sum := sha256.Sum256(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")))
	return hex.EncodeToString(sum[:8])
}

// A markFault is why a file with marks is left as it is.
type markFault string

func (f markFault) Error() string { return string(f) }

// remarked is a file with this marked text in it: in the place of the one that it has, else
// behind the rest. Without a text it is taken away. Windows line ends stay.
func remarked(file []byte, text string) ([]byte, error) {
	line := "\n"
	if bytes.Contains(file, []byte("\r\n")) {
		line = "\r\n"
	}
	fresh := []byte{}
	if text != "" {
		fresh = bytes.ReplaceAll([]byte(marked(text)), []byte("\n"), []byte(line))
	}
	found := markedText().FindAllSubmatchIndex(file, -1)
	marks := bytes.Count(file, []byte("<!-- piton setup: begins")) + bytes.Count(file, []byte("<!-- piton setup: ends"))
	switch {
	case len(found) > 1 || marks != 2*len(found):
		return nil, markFault("its marks of piton setup do not match")
	case len(found) == 0 && (len(file) == 0 || text == ""):
		return append(file[:len(file):len(file)], fresh...), nil
	case len(found) == 0:
		if !bytes.HasSuffix(file, []byte("\n")) {
			file = append(file[:len(file):len(file)], line...)
		}
		return append(append(file[:len(file):len(file)], line...), fresh...), nil
	}
	at := found[0]
	if markHash(file[at[2]:at[3]]) != string(file[at[4]:at[5]]) {
		return nil, markFault("somebody changed what piton setup wrote there")
	}
	before, after := file[:at[0]], file[at[1]:]
	if text == "" && len(before) > 0 {
		before = bytes.TrimSuffix(before, []byte(line)) // the empty line that set it apart
	}
	return append(append(before[:len(before):len(before)], fresh...), after...), nil
}
