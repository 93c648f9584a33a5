//go:build linux

package cli_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// says runs a verb that ends with a code, and returns what it prints.
func (b *web) says(code int, env []string, words ...string) string {
	b.t.Helper()
	c := exec.Command("piton", words...)
	c.Dir, c.Env = b.ws, slices.Concat(b.env, env)
	out, err := c.CombinedOutput()
	if is := c.ProcessState.ExitCode(); is != code {
		b.t.Fatalf("piton %q: exit %d, %v, want %d\n%s", words, is, err, code, out)
	}
	return string(out)
}

// freeAddress is an address of this machine where nobody listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	return l.Addr().String()
}

// A server that cannot use its provider says why, and shows no secret. One that can says what
// the provider has to know.
func TestServerWithProvider(t *testing.T) {
	b := newWeb(t, map[string]string{"ws/.keep": ""})
	cert, key, _ := certificate(t)
	served := []string{"serve", "--tls-cert", cert, "--tls-key", key, "--addr", freeAddress(t)}
	b.says(0, nil, "serve", "token", "anna", "--email", "Anna@Example.org")
	if out := b.says(0, nil, "serve", "users"); !strings.Contains(out, ", anna@example.org") {
		t.Errorf("the users are\n%s", out)
	}
	for _, c := range []struct {
		code int
		says string
		env  []string
		args []string
	}{
		{2, "anna has anna@example.org already", nil, []string{"serve", "token", "ben", "--email", "anna@example.org"}},
		{2, `"ben" cannot be the address of a user`, nil, []string{"serve", "token", "ben", "--email", "ben"}},
		{2, "--oidc and --oidc-client belong together", nil, append(served, "--oidc", "https://127.0.0.1:1")},
		{2, "--oidc and --oidc-client belong together", nil, append(served, "--oidc-client", "piton")},
		{2, "port 0 is another one each time", nil, []string{"serve", "--tls-cert", cert, "--tls-key", key, "--oidc", "https://127.0.0.1:1", "--oidc-client", "piton"}},
		{2, "which PITON_OIDC_SECRET_FILE names, is empty", []string{"PITON_OIDC_SECRET_FILE=" + filepath.Join(b.ws, ".keep")}, append(served, "--oidc", "https://127.0.0.1:1", "--oidc-client", "piton")},
		{2, "only over TLS", nil, []string{"serve", "--oidc", "https://127.0.0.1:1", "--oidc-client", "piton"}},
		{2, "begins with https://", nil, append(served, "--oidc", "http://127.0.0.1:1", "--oidc-client", "piton")},
		{8, "nobody can sign in through https://127.0.0.1:1: .*connection refused", []string{"PITON_OIDC_SECRET=hush"}, append(served, "--oidc", "https://127.0.0.1:1", "--oidc-client", "piton")},
		{2, "PITON_OIDC_SECRET_FILE cannot be read", []string{"PITON_OIDC_SECRET_FILE=" + b.ws + "/none"}, append(served, "--oidc", "https://127.0.0.1:1", "--oidc-client", "piton")},
	} {
		out := strings.Join(strings.Fields(b.says(c.code, c.env, c.args...)), " ")
		first, rest, _ := strings.Cut(c.says, ".*")
		if !strings.Contains(out, first) || !strings.Contains(out, rest) || strings.Contains(out, "hush") || !strings.Contains(out, "hint") && !strings.Contains(out, "fix") {
			t.Errorf("%q: there is no %q in\n%s", c.args, c.says, out)
		}
	}

	var issuer string
	asked := make(chan [2]string, 1)
	at := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/token" {
			id, secret, _ := r.BasicAuth()
			asked <- [2]string{id, secret}
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, `{"error": "invalid_client"}`)
			return
		}
		fmt.Fprintf(w, `{"issuer": %q, "authorization_endpoint": "%s/auth", "token_endpoint": "%s/token"}`, issuer, issuer, issuer)
	}))
	defer at.Close()
	issuer = at.URL
	trusted, secret := filepath.Join(t.TempDir(), "ca.pem"), filepath.Join(t.TempDir(), "secret")
	b.write(trusted, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: at.Certificate().Raw})))
	b.write(secret, "hush\n")
	b.env = append(b.env, "SSL_CERT_FILE="+trusted, "PITON_OIDC_SECRET_FILE="+secret)
	var said struct {
		Data struct{ URL, Redirect string }
	}
	if err := json.NewDecoder(b.serve(append(served[1:], "--oidc", issuer, "--oidc-client", "piton", "--json")...)).Decode(&said); err != nil || said.Data.Redirect != said.Data.URL+"sign-in/return" {
		t.Fatalf("it says %+v, %v", said, err)
	}
	if out := b.says(8, nil, append(served, "--oidc", issuer+"/", "--oidc-client", "piton")...); !strings.Contains(strings.Join(strings.Fields(out), " "), "it says that its issuer is") {
		t.Errorf("another issuer:\n%s", out)
	}

	// The secret that the variable names is shown to the provider, and to nobody else.
	client := insecure()
	res, err := client.Get(said.Data.URL + "sign-in/provider")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	to, err := res.Location()
	if err != nil || to.Query().Get("redirect_uri") != said.Data.Redirect || !strings.HasPrefix(to.String(), issuer+"/auth?") {
		t.Fatalf("a browser is sent to %v, %v", to, err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, said.Data.Redirect+"?"+url.Values{"code": {"x"}, "state": {to.Query().Get("state")}}.Encode(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range res.Cookies() {
		r.AddCookie(c)
	}
	if res, err = client.Do(r); err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusUnauthorized || !strings.Contains(string(body), "The provider did not sign you in: invalid_client.") || strings.Contains(string(body), "hush") {
		t.Errorf("%s, %v\n%s", res.Status, err, body)
	}
	if is := <-asked; is != [2]string{"piton", "hush"} {
		t.Errorf("the client shows %q", is)
	}
}

// insecure is a client that trusts any server, and follows no redirect.
func insecure() *http.Client {
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport:     &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
	}
}

// The server shows a certificate that was renewed, and keeps the one before while the new one is broken.
func TestServerCertificateRenewed(t *testing.T) {
	b := newWeb(t, map[string]string{"ws/.keep": ""})
	b.says(0, nil, "serve", "token", "anna")
	cert, key, _ := certificate(t)
	serve := exec.Command("piton", "serve", "--tls-cert", cert, "--tls-key", key, "--json")
	serve.Dir, serve.Env = b.ws, b.env
	out, err := serve.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	complaints, err := serve.StderrPipe()
	if err == nil {
		err = serve.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var said struct{ Data struct{ URL string } }
	if err := json.NewDecoder(out).Decode(&said); err != nil {
		t.Fatal(err)
	}
	at := strings.TrimSuffix(strings.TrimPrefix(said.Data.URL, "https://"), "/")
	shown := func() *x509.Certificate {
		t.Helper()
		c, err := tls.Dial("tcp", at, &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		return c.ConnectionState().PeerCertificates[0]
	}
	copies := func(from, to string) {
		t.Helper()
		body, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		b.write(to, string(body))
	}
	lines := make(chan string)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(complaints); s.Scan(); {
			lines <- s.Text()
		}
	}()
	first := shown()
	newCert, newKey, trust := certificate(t)
	b.write(cert, "no certificate\n")
	complaint := ""
	complained := func() bool {
		if is := shown(); !is.Equal(first) {
			t.Fatal("with a broken one it shows another certificate")
		}
		select {
		case complaint = <-lines:
		default:
		}
		return complaint != ""
	}
	if !comes(t, complained) {
		t.Fatal("it says nothing of a broken one")
	}
	if !strings.Contains(complaint, "the new certificate cannot be used") {
		t.Errorf("it says %q", complaint)
	}
	copies(newKey, key)
	copies(newCert, cert)
	if !comes(t, func() bool { return !shown().Equal(first) }) {
		t.Fatal("it shows the certificate from before")
	}
	if _, err := shown().Verify(x509.VerifyOptions{Roots: trust}); err != nil {
		t.Error(err)
	}
	if err := serve.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	for line := range lines {
		if strings.HasPrefix(line, "piton:") {
			t.Errorf("it says also %q", line)
		}
	}
	if err := serve.Wait(); err != nil {
		t.Error(err)
	}
}
