package tool

import (
	"slices"
	"strings"
)

// harmlessOptions are, for free commands of which some options write, run or set
// something, the ones that do not; a colon says that a value belongs to it.
func harmlessOptions() map[string]string {
	awk := "-F: -v:"
	return map[string]string{
		"awk": awk, "gawk": awk, "mawk": awk, "nawk": awk,
		"jobs":     "-l -n -p -r -s",
		"sdiff":    "-i -E -Z -b -W -B -a -l -s -t -d -H -w: --ignore-case --ignore-all-space --text --suppress-common-lines --width:",
		"diff3":    "-A -E -e -3 -x -X -i -m -a -T -L: --text --merge --show-all --label:",
		"hostname": "-a -A -d -f -i -I -s -y -V -h --alias --all-fqdns --domain --fqdn --long --ip-address --all-ip-addresses --short --yp --version --help",
		"date":     "-u -R -I -d: -r: --utc --universal --rfc-email --iso-8601 --rfc-3339 --date: --reference: --debug --version --help",
		"file":     "-b -i -k -L -h -N -n -r -0 -v -F: -f: --brief --mime --mime-type --mime-encoding --keep-going --dereference --no-dereference --extension --separator: --files-from: --version --help",
		"go env":   "-json -changed",
		"go list":  "-f: -json -m -e -deps -test -find -u -versions -retracted -tags: -race",
		"go doc":   "-all -c -cmd -short -src -u",
	}
}

// harmless reports whether a free command, by its name and verb, has no option
// but those that are known to be harmless, each written out.
func harmless(command string, args []word) bool {
	list, ok := harmlessOptions()[command]
	if !ok {
		return true
	}
	known, golike := strings.Fields(list), strings.HasPrefix(command, "go ")
	for i := 0; i < len(args); i++ {
		switch text := args[i].text; {
		case !args[i].known:
			return false
		case text == "--":
			return !slices.ContainsFunc(args[i:], func(a word) bool { return !a.known })
		case !strings.HasPrefix(text, "-") || text == "-":
		case slices.Contains(known, dashed(text, golike)+":"):
			i++ // its value
		case !listed(known, dashed(text, golike), golike):
			return false
		}
	}
	return true
}

// dashed takes off the second dash, which says nothing to programs written in Go.
func dashed(text string, golike bool) string {
	if golike && strings.HasPrefix(text, "--") {
		return text[1:]
	}
	return text
}

// listed looks for an option with its value in the same word, or for a cluster
// of letters.
func listed(known []string, text string, golike bool) bool {
	name, _, _ := strings.Cut(text, "=")
	switch {
	case slices.Contains(known, name), name != text && slices.Contains(known, name+":"):
		return true
	case golike || strings.HasPrefix(text, "--"):
		return false
	case slices.Contains(known, text[:2]+":"):
		return true
	}
	return !strings.ContainsFunc(text[1:], func(r rune) bool { return !slices.Contains(known, "-"+string(r)) })
}
