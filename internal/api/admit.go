package api

import (
	"mime"
	"net/http"
	"slices"

	"agency/internal/agency"
)

// Admit refuses what no client of ours sends and a page of a browser does: a
// host that is none of these names, exactly, which is what a name says that was
// led here (DNS rebinding); an origin; and a body that is not declared as JSON,
// which is the only kind that a foreign page cannot send unasked.
func Admit(r *http.Request, hosts ...string) error {
	if !slices.Contains(hosts, r.Host) {
		return agency.Errorf(agency.KindDenied, "host %q: this is not who answers here", r.Host)
	}
	if r.Header.Get("Origin") != "" || r.Header.Get("Sec-Fetch-Site") != "" {
		return agency.Errorf(agency.KindDenied, "a page of a browser may not speak to this server")
	}
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return nil
	}
	if t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || t != "application/json" {
		return agency.Errorf(agency.KindInvalid, "content type %q: want application/json", r.Header.Get("Content-Type"))
	}
	return nil
}

// Admitted serves only what Admit lets pass.
func Admitted(next http.Handler, hosts ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := Admit(r, hosts...); err != nil {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(StatusOf(agency.KindOf(err)))
			_, _ = w.Write(EncodeFault(err)) // who is refused need not read why
			return
		}
		next.ServeHTTP(w, r)
	})
}
