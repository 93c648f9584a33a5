package page

import (
	"io"
	"net/http"
)

// metrics serves what programs that watch others ask for.
func (s *server) metrics(w http.ResponseWriter, r *http.Request, ws *Workspace) error {
	text, err := s.scrapes.Text(r.Context(), ws.Store)
	if err == nil {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		io.WriteString(w, text) //nolint:errcheck // who asked is gone then
	}
	return err
}
