//go:build gate && linux

package cli_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// TestOpenIDProvider has a browser sign in through a provider that others wrote, at another site. The
// gate alone asks it: it installs that with npm.
func TestOpenIDProvider(t *testing.T) {
	home := installed(t, "oidc-provider@9.13.3")
	script, err := os.ReadFile("testdata/openid_provider.mjs")
	if err == nil {
		err = os.WriteFile(filepath.Join(home, "provider.mjs"), script, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	theirs, theirKey, _ := certificate(t, "localhost")
	node := exec.Command("node", filepath.Join(home, "provider.mjs"), theirs, theirKey)
	var warnings bytes.Buffer
	node.Stderr = &warnings
	out, err := node.StdoutPipe()
	if err == nil {
		err = node.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		node.Process.Kill() //nolint:errcheck // it has ended then
		node.Wait()         //nolint:errcheck // it was killed
		if t.Failed() {
			t.Logf("the provider says\n%s", warnings.String())
		}
	})
	issuer, err := bufio.NewReader(out).ReadString('\n')
	if issuer = strings.TrimSpace(issuer); err != nil {
		t.Fatal(err)
	}

	b := newWeb(t, map[string]string{"ws/plans/greet.md": apiPlan})
	b.says(0, nil, "serve", "token", "anna", "--may", "run,approve", "--email", "Anna@Example.org")
	b.says(0, nil, "serve", "token", "una", "--email", "una@example.org")
	cert, key, _ := certificate(t)
	b.env = append(b.env, "SSL_CERT_FILE="+theirs, "PITON_OIDC_SECRET=hush")
	var said struct {
		Data struct{ URL, Redirect string }
	}
	if err := json.NewDecoder(b.serve("--addr", freeAddress(t), "--tls-cert", cert, "--tls-key", key, "--oidc", issuer, "--oidc-client", "piton", "--json")).Decode(&said); err != nil {
		t.Fatal(err)
	}
	res, err := insecure().Post(issuer+"/reg", "application/json", strings.NewReader(fmt.Sprintf(`{"redirect_uris": [%q]}`, said.Data.Redirect)))
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(res.Body); err != nil || res.StatusCode != http.StatusCreated {
		t.Fatalf("the client is registered: %s, %v\n%s", res.Status, err, body)
	}
	res.Body.Close()

	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.DisableGPU, chromedp.Flag("ignore-certificate-errors", true))
	alloc, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	browser, closed := chromedp.NewContext(alloc)
	t.Cleanup(closed)
	t.Cleanup(func() { _ = chromedp.Cancel(browser) }) // waits for its end
	chromedp.ListenTarget(browser, func(e any) {
		if e, is := e.(*log.EventEntryAdded); is && strings.Contains(e.Entry.Text, "Content Security Policy") {
			t.Errorf("the browser says: %s %s", e.Entry.Text, e.Entry.URL)
		}
	})
	if err := chromedp.Run(browser); err != nil { // it lives as long as this context
		t.Fatal(err)
	}
	does := func(what string, actions ...chromedp.Action) {
		t.Helper()
		wait, cancel := context.WithTimeout(browser, time.Minute)
		defer cancel()
		if err := chromedp.Run(wait, actions...); err != nil {
			var shown string
			last, cancel := context.WithTimeout(browser, 10*time.Second)
			defer cancel()
			_ = chromedp.Run(last, chromedp.Evaluate(`location.href + "\n" + document.body.innerText`, &shown)) // else nothing is shown
			t.Fatalf("%s: %v; the page is %s", what, err, shown)
		}
	}
	// signsIn is what the page shows to somebody who signs in through the provider.
	signsIn := func(login, then string) (text string) {
		t.Helper()
		does(
			login, network.ClearBrowserCookies(), chromedp.Navigate(said.Data.URL), chromedp.Click(`a[href="/sign-in/provider"]`),
			chromedp.SendKeys(`input[name="login"]`, login), chromedp.SendKeys(`input[name="password"]`, "x"), chromedp.Click("button.login-submit"),
			chromedp.Click(`input[name="prompt"][value="consent"] ~ button`), chromedp.WaitVisible(then), chromedp.Text("body", &text),
		)
		return text
	}
	for login, says := range map[string]string{
		"mallory@example.org": "Nobody here has the address mallory@example.org.",
		"una@example.org":     `The provider vouches for no e-mail address: it has not verified "una@example.org".`,
	} {
		if text := signsIn(login, `[role="alert"]`); !strings.Contains(text, says) || strings.Contains(text, "sign out") {
			t.Errorf("%s: the page says %s", login, text)
		}
	}
	if text := signsIn("anna@example.org", `form[action="/sign-out"] button`); !strings.Contains(text, "anna · sign out") {
		t.Errorf("the page says %s", text)
	}
	does("approve", chromedp.Navigate(said.Data.URL+"plans/plans/greet.md"), chromedp.Click("#start button.pri"), chromedp.WaitVisible("#steps"))
	if out := b.says(0, nil, "history", "plans/greet.md"); !strings.Contains(out, "approved by anna") {
		t.Errorf("the history is\n%s", out)
	}
	b.says(0, nil, "cancel")
}
