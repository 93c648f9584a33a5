package sqlite

// The names that Config.Point is called with: one before and one after each
// thing that has to survive a crash.
const (
	PointAppendBegin   = "append.begin"     // the transaction is open, nothing is written
	PointAppendWritten = "append.written"   // all is written, nothing is committed
	PointAppendDone    = "append.committed" // durable, nobody was told
	PointObjectWrite   = "object.write"     // before a large object's file
	PointObjectRename  = "object.rename"    // the file is synced under another name
	PointObjectRenamed = "object.renamed"   // it has its name, the directory is not synced
	PointObjectDone    = "object.done"      // durable, no record names it
	PointAnchorWrite   = "anchor.write"
	PointAnchorRename  = "anchor.rename"
	PointAnchorDone    = "anchor.done"
	PointEpochWrite    = "epoch.write" // the lock is held, the epoch is the old one
	PointEpochDone     = "epoch.done"  // the new epoch is durable, nobody was told
)

// Points lists all names, for tests that stop the process at each.
func Points() []string {
	return []string{
		PointAppendBegin, PointAppendWritten, PointAppendDone,
		PointObjectWrite, PointObjectRename, PointObjectRenamed, PointObjectDone,
		PointAnchorWrite, PointAnchorRename, PointAnchorDone,
		PointEpochWrite, PointEpochDone,
	}
}
