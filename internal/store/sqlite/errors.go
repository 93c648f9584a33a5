package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"unicode"

	"github.com/piton-dev/piton/internal/durable"
	"github.com/piton-dev/piton/internal/store"

	driver "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"
)

// explain turns an error of the database or the file system into one that
// names the file, the class that callers branch on, and what to do.
func (s *Store) explain(doing string, err error) error {
	return explain(doing, s.path, err)
}

func explain(doing, path string, err error) error {
	class, advice := classify(err)
	err = printable{err}
	switch {
	case class == nil && advice == "":
		return fmt.Errorf("journal: %s %s: %w", doing, path, err)
	case class == nil || errors.Is(err, class):
		return fmt.Errorf("journal: %s %s: %s: %w", doing, path, advice, err)
	}
	return fmt.Errorf("journal: %s %s: %w: %s: %w", doing, path, class, advice, err)
}

// A printable error says nothing that a terminal obeys: what is damaged may hold
// anything, and SQLite repeats it.
type printable struct{ error }

func (p printable) Error() string { return plain(p.error.Error()) }

func (p printable) Unwrap() error { return p.error }

func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
}

const (
	adviceFull     = "free some space, then start again"
	adviceReadOnly = "make the directory and its files writable, then start again"
	adviceCorrupt  = "restore a backup"
	adviceInput    = "the disk or its file system failed; check it, then start again"
	adviceBusy     = "another program holds the file locked; end it"
)

// classify answers with a sentinel of the store, if the error has one, and with
// what a person can do.
//
//lint:ignore ST1008 it answers about an error; it does not fail
func classify(err error) (error, string) {
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return nil, ""
	case errors.Is(err, store.ErrCorrupt):
		return store.ErrCorrupt, adviceCorrupt
	}
	if db, ok := errors.AsType[*driver.Error](err); ok {
		return classifyCode(db.Code())
	}
	switch {
	case strings.Contains(err.Error(), "sql: Scan error"): // a column is not of the type that it was written with
		return store.ErrCorrupt, adviceCorrupt
	case durable.IsFull(err):
		return store.ErrFull, adviceFull
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return store.ErrReadOnly, adviceReadOnly
	case errors.Is(err, syscall.EIO):
		return nil, adviceInput
	}
	return nil, ""
}

//lint:ignore ST1008 it answers about an error; it does not fail
func classifyCode(code int) (error, string) {
	switch code {
	case codes.SQLITE_IOERR_SHMSIZE:
		return store.ErrFull, adviceFull
	case codes.SQLITE_IOERR_SHORT_READ, codes.SQLITE_IOERR_CORRUPTFS, codes.SQLITE_IOERR_DATA:
		return store.ErrCorrupt, adviceCorrupt
	}
	switch code & 0xff {
	case codes.SQLITE_FULL:
		return store.ErrFull, adviceFull
	case codes.SQLITE_READONLY, codes.SQLITE_PERM:
		return store.ErrReadOnly, adviceReadOnly
	case codes.SQLITE_CORRUPT, codes.SQLITE_NOTADB, codes.SQLITE_ERROR, codes.SQLITE_MISMATCH,
		codes.SQLITE_CONSTRAINT, codes.SQLITE_FORMAT, codes.SQLITE_SCHEMA,
		codes.SQLITE_TOOBIG: // nothing so big is ever written
		// Statements are fixed and were tested: where one does not fit, the
		// file is not what it was.
		return store.ErrCorrupt, adviceCorrupt
	case codes.SQLITE_IOERR:
		return nil, adviceInput
	case codes.SQLITE_BUSY, codes.SQLITE_LOCKED:
		return nil, adviceBusy
	}
	return nil, ""
}

// unreadable marks a row that is not what was written.
func unreadable(err error) error {
	if errors.Is(err, store.ErrCorrupt) {
		return err
	}
	return fmt.Errorf("%w: %w", store.ErrCorrupt, err)
}
