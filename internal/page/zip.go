package page

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/piton-dev/piton/internal/api"
)

// takesZip reports whether a client takes an answer that is compressed (RFC 9110, 12.5.3).
func takesZip(r *http.Request) bool {
	for coding := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		words := strings.FieldsFunc(coding, func(c rune) bool { return c == ';' || c == ' ' || c == '\t' })
		if len(words) > 0 && words[0] == "gzip" {
			return !slices.ContainsFunc(words[1:], func(w string) bool { return strings.Trim(w, "q=0.") == "" })
		}
	}
	return false
}

// zips compresses the answer of a handler for clients that take it so. Never put a stream behind
// it: its text would come out only at the end.
//
//go:noinline // else each route has a copy of what is in it
func zips(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Vary", "Accept-Encoding")
		if r.Method == http.MethodHead || !takesZip(r) {
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
	if !z.told && status != http.StatusNoContent {
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

// file is one that is part of the program, plain and compressed.
type file struct {
	kind, tag   string
	plain, gzip []byte
}

// staticFiles are those of the page.
var staticFiles = sync.OnceValue(func() map[string]file {
	all := map[string]file{}
	names, err := fs.Glob(static, "static/*.*")
	for _, name := range names {
		if path.Ext(name) == ".md" {
			continue // it is for those who build it
		}
		var body []byte
		if body, err = static.ReadFile(name); err != nil {
			break
		}
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		z.Write(body) //nolint:errcheck // there is memory
		z.Close()     //nolint:errcheck // the same
		all[path.Base(name)] = file{mime.TypeByExtension(path.Ext(name)), api.Digest(body), body, b.Bytes()}
	}
	if err != nil {
		panic(err) // the program was built without them
	}
	return all
})

// static serves the files that are part of the program. A browser keeps them, and asks each time
// whether they are still the same.
func (s *server) static() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f, ok := staticFiles()[r.PathValue("file")]
		if !ok {
			http.NotFound(w, r)
			return
		}
		body, coding := f.plain, "plain"
		if takesZip(r) {
			body, coding = f.gzip, "gzip"
			w.Header().Set("Content-Encoding", coding)
		}
		w.Header().Set("Vary", "Accept-Encoding")
		w.Header().Set("Content-Type", f.kind)
		w.Header().Set("Cache-Control", "no-cache")
		w.Header().Set("Etag", fmt.Sprintf("%q", f.tag+"-"+coding))
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
	})
}
