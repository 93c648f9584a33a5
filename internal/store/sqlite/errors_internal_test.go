package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	codes "modernc.org/sqlite/lib"

	"github.com/piton-dev/piton/internal/store"
)

func TestClassify(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		err   error
		class error
	}{
		{&os.PathError{Op: "write", Path: "x", Err: syscall.EROFS}, store.ErrReadOnly},
		{&os.PathError{Op: "write", Path: "x", Err: syscall.EACCES}, store.ErrReadOnly},
		{&os.PathError{Op: "write", Path: "x", Err: syscall.EPERM}, store.ErrReadOnly},
		{&os.PathError{Op: "sync", Path: "x", Err: syscall.EIO}, nil},
		{fmt.Errorf("%w: record 7", store.ErrCorrupt), store.ErrCorrupt},
		{context.Canceled, nil},
		{errors.New("anything"), nil},
	} {
		got := explain("append to", "/state/journal.db", test.err)
		if !errors.Is(got, test.err) || test.class != nil && !errors.Is(got, test.class) {
			t.Errorf("%v became %v, want one of %v", test.err, got, test.class)
		}
		if !strings.HasPrefix(got.Error(), "journal: append to /state/journal.db: ") {
			t.Errorf("%q does not say what failed where", got)
		}
		if test.class == nil && (errors.Is(got, store.ErrFull) || errors.Is(got, store.ErrReadOnly) || errors.Is(got, store.ErrCorrupt)) {
			t.Errorf("%v became %v, which is of a class", test.err, got)
		}
	}
}

func TestClassifyCode(t *testing.T) {
	t.Parallel()
	for code, want := range map[int]struct {
		class  error
		advice string
	}{
		codes.SQLITE_FULL:             {store.ErrFull, adviceFull},
		codes.SQLITE_IOERR_SHMSIZE:    {store.ErrFull, adviceFull},
		codes.SQLITE_READONLY:         {store.ErrReadOnly, adviceReadOnly},
		codes.SQLITE_READONLY_DBMOVED: {store.ErrReadOnly, adviceReadOnly},
		codes.SQLITE_CORRUPT:          {store.ErrCorrupt, adviceCorrupt},
		codes.SQLITE_CORRUPT_INDEX:    {store.ErrCorrupt, adviceCorrupt},
		codes.SQLITE_NOTADB:           {store.ErrCorrupt, adviceCorrupt},
		codes.SQLITE_IOERR_SHORT_READ: {store.ErrCorrupt, adviceCorrupt},
		codes.SQLITE_IOERR_FSYNC:      {nil, adviceInput},
		codes.SQLITE_IOERR_WRITE:      {nil, adviceInput},
		codes.SQLITE_BUSY:             {nil, adviceBusy},
		codes.SQLITE_INTERRUPT:        {nil, ""},
	} {
		if class, advice := classifyCode(code); class != want.class || advice != want.advice {
			t.Errorf("code %d: %v, %q; want %v, %q", code, class, advice, want.class, want.advice)
		}
	}
}
