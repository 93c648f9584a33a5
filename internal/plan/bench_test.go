package plan_test

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/piton-dev/piton/internal/plan"
)

// large is one of the three example plans, with its steps repeated.
func large(b *testing.B, size int) []byte {
	head, steps, ok := bytes.Cut(corpus(b)["testdata/bug-fix.txtar"].Files[0].Data, []byte("## Steps\n"))
	if !ok {
		b.Fatal("the plan has no steps")
	}
	return append(head, bytes.Repeat(steps, (size-len(head))/len(steps))...)
}

func BenchmarkParse(b *testing.B) {
	for name, src := range map[string][]byte{
		"small":       corpus(b)["testdata/bug-fix.txtar"].Files[0].Data,
		"1MiB":        large(b, 1<<20),
		"long task":   []byte("# T\n### 1. One\n**task:**\n" + strings.Repeat("Some words that an agent has to read, and no marks.\n", 100_000)),
		"10000 steps": []byte("# T\n" + manySteps(10_000)),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			b.ReportAllocs()
			for b.Loop() {
				plan.Parse("", src)
			}
		})
	}
}

// BenchmarkScan is the least that any reader of plans does: it looks at every
// byte as UTF-8 and finds the lines. Parse is to be compared with it in one run.
func BenchmarkScan(b *testing.B) {
	src := large(b, 1<<20)
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		lines := 0
		for rest := string(src); rest != ""; lines++ {
			line, after, _ := strings.Cut(rest, "\n")
			for _, r := range line {
				if r == utf8.RuneError {
					b.Fatal("not UTF-8")
				}
			}
			rest = after
		}
	}
}

func BenchmarkFormat(b *testing.B) {
	src := large(b, 1<<20)
	p, _ := plan.Parse("", src)
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		plan.Format(p)
	}
}

func BenchmarkHash(b *testing.B) {
	p, _ := plan.Parse("", large(b, 1<<20))
	b.SetBytes(int64(len(p.Source)))
	for b.Loop() {
		p.Hash()
	}
}
