// Package tool holds what a step can call besides an agent: the built-in tools,
// which work on the files of one workspace, run a command or fetch a page, and
// the tools of MCP servers that the configuration names.
//
// The one idea: a tool is a name, two schemas and a function, and everything
// about a call is seen by the harness. Arguments are checked before the call and
// the output after it; the [Observation] says what came out, its hash, how long
// it took and which files changed from what to what. Before a call,
// [Registry.Weigh] looks at the workspace and says what a person must be asked,
// and what it found there; a call that is bound to it is refused if something
// else is there by then.
//
// It must NEVER leave the workspace by any path, follow a link to write, write
// where Git and Piton keep their own, count what a foreign server says as more
// than a claim, let output or text of others grow without bound, or leave a
// process behind.
package tool
