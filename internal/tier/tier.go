// Package tier says how much the tests ask. There are two tiers. That of people
// (go test ./...) asks everything once, with few random draws and no program of others.
// The gate (go test -tags gate ./...) asks all. CONTRIBUTING.md has what the first one
// leaves out, and a test keeps that list true.
//
// It is for tests alone. It must never leave anything out that the gate asks.
package tier

import (
	"flag"
	"fmt"
	"testing"
)

// Draws is how many random cases a test tries: few for people, all in the gate.
func Draws(few, all int) int {
	if Gate {
		return all
	}
	return few
}

// Rapid sets how many cases the properties of a package try. Call it in TestMain, after
// flag.Parse; -rapid.checks of the command line wins.
func Rapid(few, all int) {
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	if given {
		return
	}
	if err := flag.Set("rapid.checks", fmt.Sprint(Draws(few, all))); err != nil {
		panic(err)
	}
}

// Needs leaves a test out on a machine that lacks what it needs, as err says. In the gate
// it fails: there no test is left out.
func Needs(t testing.TB, err error) {
	t.Helper()
	switch {
	case err == nil:
	case Gate:
		t.Fatal("the gate leaves no test out: ", err)
	default:
		t.Skip("this machine lacks what the test needs: ", err)
	}
}
