package tool

import (
	"fmt"
	"io"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// overHTTP speaks with a server at an address. No answer is read beyond a limit,
// and none leads to another host.
func overHTTP(address string) mcp.Transport {
	return &mcp.StreamableClientTransport{
		Endpoint: address,
		HTTPClient: &http.Client{
			Transport: boundedAnswers{http.DefaultTransport},
			CheckRedirect: func(req *http.Request, via []*http.Request) error {
				if req.URL.Host != via[0].URL.Host || len(via) > maxRedirects {
					return fmt.Errorf("a redirection to %s is not followed", req.URL.Host)
				}
				return nil
			},
		},
		MaxRetries:           -1,
		DisableStandaloneSSE: true,
		MaxEventSize:         maxMessages,
	}
}

// boundedAnswers cuts off the bodies of answers.
type boundedAnswers struct{ next http.RoundTripper }

func (b boundedAnswers) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := b.next.RoundTrip(req)
	if err == nil && res.Body != nil {
		res.Body = struct {
			io.Reader
			io.Closer
		}{&limited{res.Body, 2 * maxMessages}, res.Body}
	}
	return res, err
}

// limited fails where a limit is passed.
type limited struct {
	from io.Reader
	left int
}

func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, problem(TooLarge, "an answer of more than %d bytes", 2*maxMessages)
	}
	n, err := l.from.Read(p[:min(len(p), l.left)])
	l.left -= n
	return n, err
}
