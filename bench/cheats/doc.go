// Package cheats has a table of ways in which a step can pretend that its work is done, and
// the test that tries each of them on the program: with writes: and without, at each level
// of isolation. What comes of it is docs/cheats.md.
//
// A cheat must be one: its contract fails before, passes after honest work, passes after
// the cheat where nobody watches, and fails for what the cheat left of the work itself.
package cheats
