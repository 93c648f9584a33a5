// Package shell reads scripts for bash without running them: which commands they
// start, as far as the text tells, and how they may end.
//
// It has the only tables of wrappers (env, timeout, xargs, …), of builtins, of
// shells and of interpreters.
//
// It must never look at a file or the environment, and never take more than
// linear time in the size of a script.
package shell
