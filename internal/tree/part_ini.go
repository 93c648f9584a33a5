package tree

import (
	"bytes"
	"strings"
)

// splitINI separates the lines of sections whose name holds part from the
// others. Readers of such files disagree whether an indented "[name]" begins a
// section or goes on with the value above it, so a line counts if any of them
// could see it in such a section. Blank lines and comments do not count.
func splitINI(text []byte, part string) (mine, others []string) {
	strict, loose := false, false
	lines(text, "\r\v\f\x1c\x1d\x1e\u0085\u2028\u2029", func(l string) {
		plain := strings.TrimSpace(l)
		if strings.HasPrefix(plain, "[") {
			in := strings.Contains(strings.ToLower(plain), strings.ToLower(part))
			loose = in
			if l[0] == '[' {
				strict = in
			}
		}
		switch {
		case !strict && !loose:
			others = append(others, l)
		case plain != "" && plain[0] != '#' && plain[0] != ';':
			mine = append(mine, strings.TrimRight(l, " \t"))
		}
	})
	return mine, others
}

func extractINI(text []byte, part string) ([]byte, error) {
	if bytes.HasPrefix(text, byteOrderMark) {
		return nil, errMalformed
	}
	mine, _ := splitINI(text, part)
	if len(mine) == 0 {
		return nil, nil
	}
	return []byte(strings.Join(mine, "\n") + "\n"), nil
}

func spliceINI(text, part []byte, name string) ([]byte, error) {
	if _, err := extractINI(text, name); err != nil {
		return nil, err
	}
	_, others := splitINI(text, name)
	var b bytes.Buffer
	for _, l := range others {
		b.WriteString(l + "\n")
	}
	b.Write(part)
	return b.Bytes(), nil
}
