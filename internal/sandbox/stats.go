package sandbox

import (
	"encoding/json"
	"net/http"

	"assetferry/internal/sandbox/standin"
)

type statsView struct {
	Requests []standin.Count `json:"requests"`
}

func (s *Server) serveStats(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_ = json.NewEncoder(w).Encode(statsView{s.stats.Counts()})
}
