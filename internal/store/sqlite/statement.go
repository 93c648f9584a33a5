package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
)

// A statement is run by the driver itself: database/sql would take its locks
// and convert each argument once more, a tenth of what an append costs. Only
// who has the connection may run it, see alone.
type statement struct{ stmt driverStmt }

type driverStmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// values are the arguments of a statement, each an int64, a string, bytes or a
// bool. The callers of Append make them, so that who commits only passes them on.
type values []driver.NamedValue

func list(all ...driver.Value) values {
	return make(values, 0, len(all)).and(all...)
}

func (v values) and(more ...driver.Value) values {
	for _, one := range more {
		v = append(v, driver.NamedValue{Ordinal: len(v) + 1, Value: one})
	}
	return v
}

// alone lets do run statements of the connection, which do may not use
// otherwise.
func alone(conn *sql.Conn, do func() error) error {
	return conn.Raw(func(any) error { return do() })
}

// prepareAll makes statements of their texts. Close them with closeAll, even
// after an error.
func prepareAll(ctx context.Context, conn *sql.Conn, texts map[*statement]string) error {
	return conn.Raw(func(c any) error {
		for s, text := range texts {
			made, err := c.(driver.ConnPrepareContext).PrepareContext(ctx, text)
			if err != nil {
				return err
			}
			s.stmt = made.(driverStmt)
		}
		return nil
	})
}

func closeAll(conn *sql.Conn, texts map[*statement]string) error {
	return alone(conn, func() error {
		var closed []error
		for s := range texts {
			if s.stmt != nil {
				closed = append(closed, s.stmt.Close())
			}
		}
		return errors.Join(closed...)
	})
}

// exec is given no caller's context: an append that has begun is never given up
// halfway.
func (s statement) exec(args values) (driver.Result, error) {
	return s.stmt.ExecContext(context.Background(), args)
}

// row reads the first row, if there is one.
func (s statement) row(args values, row []driver.Value) (found bool, err error) {
	rows, err := s.stmt.QueryContext(context.Background(), args)
	if err != nil {
		return false, err
	}
	err = rows.Next(row)
	if errors.Is(err, io.EOF) {
		return false, rows.Close()
	}
	return err == nil, errors.Join(err, rows.Close())
}

// An upsert updates a row, or adds it where there is none, with the same
// arguments. Rows are updated more often than not; for SQLite that is less work
// than to try to add one first.
type upsert struct{ update, add statement }

func (u upsert) exec(args values) error {
	result, err := u.update.exec(args)
	if err != nil {
		return err
	}
	if changed, err := result.RowsAffected(); changed > 0 || err != nil {
		return err
	}
	_, err = u.add.exec(args)
	return err
}
