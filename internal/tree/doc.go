// Package tree looks at a workspace, compares it, keeps what it held and puts
// that back.
//
// The one idea: a path is what [Digest] says of it, and absence is a digest too.
// A [Base] holds the digests of the protected files as a run found them; a
// [Manifest] holds those of a whole workspace. Both are compared with what is
// there now, which costs a stat for each path and the reading of those that
// changed.
//
// # No link is followed
//
// Agents write the workspace, so every component of every path is looked at
// before it is entered, through os.Root: a link in the way is a difference, not
// a detour. Where a protected path was a link when the base was taken, or lay
// behind one, the link and what it led to inside the workspace are both
// protected.
//
// # The repository
//
// What is named .git/... is looked for in the repository that git itself would
// use, wherever it is: a workspace may lie below the top of one, or be a linked
// worktree or a submodule. In the worktree of a step it is that of the workspace.
//
// # Names
//
// A path is relative to the workspace, with slashes, and clean. Bytes that are
// no UTF-8 are spelled as a NUL and two hex digits each, which no file name can
// hold, so that every path survives JSON and comes back as it was. So is the "#"
// of a file that would be taken for a part of another, package.json#scripts.
//
// # What it must NEVER do
//
// It never decides: what a difference means is the engine's to say. It never
// writes in the workspace and its repository but to restore and to merge, never
// outside of them but in the directories it was given, never runs anything the workspace names, and never
// takes a file for unchanged because of a time stamp that somebody could set.
package tree
