package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/piton-dev/piton/internal/store"
	"github.com/piton-dev/piton/internal/users"
	"github.com/piton-dev/piton/internal/verify"
)

// Here is the workspace of a server, and who asks.
type Here struct {
	ID       string        `json:"id"`
	Dir      string        `json:"dir"`
	Version  string        `json:"version"`
	Settings string        `json:"settings"` // the hash of those in force
	User     string        `json:"user"`
	Rights   []users.Right `json:"rights"`
}

// Files are the plan documents of a workspace, as far as they are not in its journal.
type Files interface {
	Read(path string) ([]byte, error)
	Names() []string
	Gone(path string) bool
	// Facts are what rules want to know for a document that the workspace has.
	Facts(ctx context.Context, path string, source []byte) (verify.Facts, error)
}

// NamedText is a text of a document: what its file has, or an object of the journal.
type NamedText struct {
	Path string `json:"path"` // relative to the workspace
	Hash string `json:"hash"` // SHA-256 of the text
}

// server is where a client's requests go in place of a socket.
type server struct{ base, token string }

// Reach returns a client of a server, which speaks for the user of a token, and the workspace
// that it has. The server must be of the same version.
func Reach(ctx context.Context, address, token, version string) (*Client, Here, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, Here{}, &Problem{Code: Invalid, Message: fmt.Sprintf("%q is not the address of a server", address), Hint: "give https://HOST:PORT"}
	}
	if at, err := netip.ParseAddr(u.Hostname()); u.Scheme == "http" && (err != nil || !at.IsLoopback()) {
		return nil, Here{}, &Problem{Code: Invalid, Message: "a token goes to another machine only over TLS", Hint: "give https://" + u.Host}
	}
	c := &Client{
		Face: ForHTTP, Note: func(string) {}, version: version, server: &server{u.Scheme + "://" + u.Host, token},
		http: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
	here, err := got[Here](ctx, c, "workspace")
	if err == nil && here.Version != version {
		err = &Problem{Code: Unavailable, Message: fmt.Sprintf("the server is piton %s, and this is %s", here.Version, version), Hint: "use one version"}
	}
	return c, here, err
}

// Journal is the journal of the server's workspace, for reading.
func (c *Client) Journal() store.Store { return elsewhere{c} }

// got asks a server for something that takes no words.
func got[A any](ctx context.Context, c *Client, path string) (answer A, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	res, err := c.server.send(ctx, c, http.MethodGet, path, nil)
	if err != nil {
		return answer, err
	}
	defer res.Body.Close()
	if err = json.NewDecoder(res.Body).Decode(&answer); err != nil {
		err = c.server.silent(err)
	}
	return answer, err
}

// silent is the problem of a server that does not answer as one.
func (s *server) silent(err error) *Problem {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	return &Problem{Code: Unavailable, Message: fmt.Sprintf("the server at %s does not answer: %v", s.base, err), Hint: "see that piton serve runs there, and that this machine trusts its certificate"}
}

func (s *server) send(ctx context.Context, c *Client, method, path string, body []byte) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, s.base+"/api/v1/"+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+s.token)
	r.Header.Set("Content-Type", "application/json")
	res, err := c.http.Do(r)
	if err != nil {
		return nil, s.silent(err)
	}
	c.notes(res)
	if res.StatusCode == http.StatusOK {
		return res, nil
	}
	defer res.Body.Close()
	var p struct {
		Code   Code   `json:"code"`
		Detail string `json:"detail"`
		Hint   string `json:"hint"`
		Words  string `json:"words"`
		Cause  string `json:"cause"`
	}
	text, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil || p.Code == "" {
		return nil, s.silent(fmt.Errorf("it is no piton server (%s)", res.Status))
	}
	return nil, Caused(Problem{Code: p.Code, Message: p.Detail, Hint: p.Hint, Words: p.Words}, p.Cause)
}

// Printed is what an attempt printed, by the name of its log. It is read a piece at a time.
func (c *Client) Printed(name string) io.ReadSeekCloser { return &printed{c: c, name: name} }

type printed struct {
	c    *Client
	name string
	at   int64
	rest []byte // read ahead
}

func (p *printed) Read(b []byte) (int, error) {
	if len(p.rest) == 0 {
		is, err := ask[PieceText](context.Background(), p.c, "files/output", Piece{p.name, p.at})
		p.rest = is.Text
		switch {
		case err != nil && Explain(err).Code == NotFound:
			return 0, fs.ErrNotExist
		case err != nil:
			return 0, err
		case len(p.rest) == 0:
			return 0, io.EOF
		}
	}
	n := copy(b, p.rest)
	p.rest, p.at = p.rest[n:], p.at+int64(n)
	return n, nil
}

func (p *printed) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += p.at
	case io.SeekEnd:
		is, err := ask[PieceText](context.Background(), p.c, "files/output", Piece{Name: p.name})
		if err != nil {
			return 0, err
		}
		offset += is.Size
	}
	p.at, p.rest = offset, nil
	return offset, nil
}

func (p *printed) Close() error { return nil }

// Piece is a part of a file.
type Piece struct {
	Name   string `json:"name"`
	Offset int64  `json:"offset"`
}

// PieceText is what it has.
type PieceText struct {
	Text []byte `json:"text"`
	Size int64  `json:"size"` // of the whole file
}

// documents are the files of a server's workspace.
type documents struct{ c *Client }

// Documents are the plan documents of the server's workspace.
func (c *Client) Documents() Files { return documents{c} }

func (d documents) Read(path string) ([]byte, error) {
	return ask[[]byte](context.Background(), d.c, "files/text", NamedText{Path: path})
}

func (d documents) Names() []string {
	all, _ := got[struct{ Files []string }](context.Background(), d.c, "plans") // what cannot be read has no names
	return all.Files
}

func (d documents) Gone(path string) bool {
	_, err := d.Read(path)
	return err != nil && Explain(err).Code == NotFound
}

func (d documents) Facts(ctx context.Context, path string, source []byte) (verify.Facts, error) {
	return ask[verify.Facts](ctx, d.c, "files/facts", NamedText{path, store.NewObject(source).Hash})
}

// Text is the text of a document of the workspace that somebody elsewhere asks for: what its
// file has, or with a hash that text, which the file or the journal has.
func (p *Product) Text(ctx context.Context, q NamedText) ([]byte, error) {
	path := q.Path
	if path == "" || strings.HasPrefix(path, "-") {
		path = "./" + path
	}
	body, err := p.readPlan(ctx, path)
	if q.Hash == "" || err == nil && store.NewObject(body).Hash == q.Hash {
		return body, err
	}
	return p.Store.Object(ctx, q.Hash)
}

// FactsOf are what rules want to know for such a text.
func (p *Product) FactsOf(ctx context.Context, q NamedText) (verify.Facts, error) {
	source, err := p.Text(ctx, q)
	if err != nil {
		return verify.Facts{}, err
	}
	return p.look(ctx, q.Path, source).Facts, nil
}
