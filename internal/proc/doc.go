// Package proc runs child processes: started, limited, watched, and ended
// together with everything they started.
//
// The one idea: no child is started by the harness itself. A small second
// process of the same program, the holder, starts one child at a time, collects
// whatever the child leaves behind and kills it, and then runs the next child.
// A holder is the first process of its own pid namespace where the system
// allows it ([Namespace]) and the adopter of orphans where it does not
// ([Subreaper]). It hangs on a socket of the harness: when the harness dies, by
// whatever signal, the holder and all below it die too. [Result.Level] says
// which of these was in force; nothing is assumed.
//
// Whom a child is kept from is a [Seal]: a last process of the same program, the stage,
// makes the child's view of the file system, gives up all rights and becomes the child.
//
// A holder is this very program started again, under another name: every program
// that imports this package can become one, before its main begins.
//
// It must NEVER return from [Pool.Run] while a process of the child's tree lives, unless
// [Result.Err] says so. It must never report a child that was cut short as one that ended
// well, and never run one without the seal that it was to have. Output never blocks a child
// and never grows in memory. A child never gets a descriptor, a terminal or a variable that
// the caller did not name.
package proc
