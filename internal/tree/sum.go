package tree

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"os"
)

// blockSize is the piece in which a file is read.
const blockSize = 64 << 10

var zeros [blockSize]byte

// sumOf returns the SHA-256 of a file in hex. size is what the file was said to have;
// what it has grown by since is not read. Of a file that is too large to be kept only
// the blocks count that are not zeros, each with its offset: so nobody is kept busy
// with a file that is large and empty.
func sumOf(ctx context.Context, f *os.File, size int64) (string, error) {
	sum := sha256.New()
	if size <= keepProtected {
		_, err := io.Copy(sum, io.LimitReader(f, size))
		return hex.EncodeToString(sum.Sum(nil)), err
	}
	err := eachBlock(ctx, f, size, func(at int64, block []byte) error {
		sum.Write(binary.BigEndian.AppendUint64(nil, uint64(at)))
		sum.Write(block)
		return nil
	})
	sum.Write(binary.BigEndian.AppendUint64(nil, uint64(size)))
	return hex.EncodeToString(sum.Sum(nil)), err
}

// eachBlock gives take the blocks of a file that are not zeros, and passes over holes
// where the system knows them.
func eachBlock(ctx context.Context, f *os.File, size int64, take func(at int64, block []byte) error) error {
	buf := make([]byte, blockSize)
	for at := int64(0); at < size; {
		from, to, err := dataFrom(f, at, size)
		if err != nil {
			return err
		}
		for at = max(at, from-from%blockSize); at < to; at += blockSize {
			if err := ctx.Err(); err != nil {
				return err
			}
			n, err := f.ReadAt(buf[:min(blockSize, size-at)], at)
			if err != nil && !errors.Is(err, io.EOF) {
				return err
			}
			if bytes.Equal(buf[:n], zeros[:n]) {
				continue
			}
			if err := take(at, buf[:n]); err != nil {
				return err
			}
		}
		if from >= size {
			return nil
		}
	}
	return nil
}
