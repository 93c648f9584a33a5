package proc_test

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"testing"

	"github.com/piton-dev/piton/internal/proc"
)

// BenchmarkDirect is what the others are compared with.
func BenchmarkDirect(b *testing.B) {
	for b.Loop() {
		cmd := exec.Command("/bin/true")
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		cmd.Env = []string{"PATH=/usr/bin:/bin"}
		if err := cmd.Run(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRun(b *testing.B) {
	for _, level := range []proc.Level{proc.Namespace, proc.Subreaper, proc.Group} {
		b.Run(string(level), func(b *testing.B) {
			p, err := proc.NewPool(proc.Config{Level: level})
			if err != nil {
				b.Fatal(err)
			}
			defer p.Close()
			spec := proc.Spec{Argv: []string{"/bin/true"}, Env: []string{"PATH=/usr/bin:/bin"}}
			for _, offline := range []bool{false, true} {
				if offline && p.Offline() != nil {
					continue
				}
				spec.Offline = offline
				b.Run(fmt.Sprintf("offline=%v", offline), func(b *testing.B) {
					for b.Loop() {
						if r := p.Run(context.Background(), spec); r.Exit != 0 || r.Err != nil {
							b.Fatalf("%+v", r)
						}
					}
				})
			}
		})
	}
}

// BenchmarkSeal compares a sealed child with one that is not, in one run.
func BenchmarkSeal(b *testing.B) {
	p, err := proc.NewPool(proc.Config{})
	if err != nil {
		b.Fatal(err)
	}
	defer p.Close()
	ws, home := b.TempDir(), b.TempDir()
	for name, seal := range map[string]*proc.Seal{"open": nil, "sealed": {Home: home, Hidden: []string{"/opt"}, Writable: []string{ws}}} {
		b.Run(name, func(b *testing.B) {
			spec := proc.Spec{Argv: []string{"/bin/true"}, Env: []string{"PATH=/usr/bin:/bin"}, Dir: ws, Seal: seal}
			for b.Loop() {
				if r := p.Run(context.Background(), spec); r.Exit != 0 || r.Err != nil {
					b.Fatalf("%+v %s", r, r.Stderr)
				}
			}
		})
	}
}
