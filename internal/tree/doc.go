// Package tree looks at a workspace, compares it, keeps contents and puts them back.
//
// The state of a path is its [Digest], and absence is a digest too. A [Base] holds the
// digests of the protected files as a run found them. A [Manifest] holds those of a
// whole workspace. Comparing costs a stat for each path, and reading those that changed.
//
// # Links
//
// Agents write the workspace, so no link is followed: every component of every path is
// looked at before it is entered, through os.Root. A link in the way is a difference.
// If a protected path was a link when the base was taken, or was reached through one,
// both the link and its target inside the workspace are protected.
//
// # The repository
//
// A path .git/... is looked for in the repository that git itself would use: the
// workspace may be a subdirectory of one, a linked worktree or a submodule. In the
// worktree of a step it is the repository of the workspace.
//
// # Names
//
// A path is relative to the workspace, with slashes, and clean. Bytes that are not
// UTF-8 are written as a NUL and two hex digits each, which no file name can hold, so
// that every path survives JSON. The same holds for the "#" in a file name that looks
// like a part of another file, package.json#scripts.
//
// # What it must NEVER do
//
// It must never decide what a difference means; the engine does. It must never write
// in the workspace and its repository except to restore and to merge, never outside
// them except in the directories it was given, never run anything that the workspace
// names, and never take a file for unchanged because of a time stamp that somebody
// could set.
package tree
