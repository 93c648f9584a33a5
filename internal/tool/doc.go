// Package tool holds the tools that a step can call: the built-in tools, which work on
// the files of one workspace, run a command or fetch a page, and the tools of
// configured MCP servers.
//
// A tool is a name, two schemas and a function, and Piton sees everything about a
// call. Arguments are checked before the call, the output after it. The [Observation]
// holds the output, its hash, the time, and which files changed from what to what.
// Before a call, [Registry.Weigh] looks at the workspace and says what a person must be
// asked. A call that is bound to what it found is refused if that has changed.
//
// It must NEVER leave the workspace by any path, follow a link to write, write to the
// files of Git and Piton, count what a foreign server says as more than a claim, let
// output grow without bound, or leave a process behind.
package tool
