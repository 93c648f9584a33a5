package page

import (
	"compress/gzip"
	"net/http"
	"strings"
)

// zips sends what a handler answers compressed to those who take it so. A stream must not pass
// through it: what is written comes out at the end.
//
//go:noinline // else each route has a copy of what is in it
func zips(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Vary", "Accept-Encoding")
		if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") || r.Header.Get("Range") != "" {
			h.ServeHTTP(w, r)
			return
		}
		z := &zipped{ResponseWriter: w}
		h.ServeHTTP(z, r)
		if z.body != nil {
			z.body.Close() //nolint:errcheck // the browser is gone then
		}
	})
}

// zipped compresses an answer that has a body.
type zipped struct {
	http.ResponseWriter
	body *gzip.Writer
	told bool // the status was sent
}

func (z *zipped) WriteHeader(status int) {
	if !z.told && status != http.StatusNotModified && status != http.StatusNoContent {
		z.Header().Del("Content-Length")
		z.Header().Set("Content-Encoding", "gzip")
		z.body = gzip.NewWriter(z.ResponseWriter)
	}
	z.told = true
	z.ResponseWriter.WriteHeader(status)
}

func (z *zipped) Write(text []byte) (int, error) {
	if !z.told {
		z.WriteHeader(http.StatusOK)
	}
	if z.body == nil {
		return z.ResponseWriter.Write(text)
	}
	return z.body.Write(text)
}
