package demo

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/bounded"
	"agency/internal/llm/rehearsal"
	"agency/internal/llm/rehearsal/wire"
)

// Rehearse serves the player of a script over the wires of providers, on loopback,
// until the context ends; an empty file is the embedded script. Began is told what
// is played, and where, once it can be asked.
func Rehearse(ctx context.Context, file, listen string, began func(script, addr string)) error {
	script, err := rehearsal.Default()
	if file != "" {
		script, err = parseScript(file)
	}
	if err != nil {
		return err
	}
	if err := onLoopback(listen); err != nil {
		return err
	}
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return agency.Errorf(agency.KindTransient, "--listen %s: %w", listen, err)
	}
	began(script.Name(), l.Addr().String())
	play := api.Admitted(wire.New(rehearsal.NewPlayer(script), wire.Options{}), loopbackNames(l.Addr())...)
	s := &http.Server{Handler: play, ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { _ = s.Close() })
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return agency.Errorf(agency.KindTransient, "serving: %w", err)
	}
	return nil
}

// loopbackNames are what a client of this machine calls the address: as it is,
// and by the names of loopback with its port.
func loopbackNames(at net.Addr) []string {
	names := []string{at.String()}
	if _, port, err := net.SplitHostPort(at.String()); err == nil {
		for _, name := range []string{"localhost", "127.0.0.1", "::1"} {
			names = append(names, net.JoinHostPort(name, port))
			if port == "80" { // which clients leave out
				names = append(names, name)
			}
		}
	}
	return names
}

func parseScript(file string) (*rehearsal.Script, error) {
	b, err := bounded.ReadAt(file, rehearsal.MaxScript)
	if err != nil {
		return nil, agency.Errorf(agency.KindInvalid, "--script: %v", err)
	}
	return rehearsal.Parse(file, b)
}

// onLoopback refuses addresses that others can reach: the player asks for no
// key.
func onLoopback(listen string) error {
	name, _, err := net.SplitHostPort(listen)
	if err != nil {
		return agency.Errorf(agency.KindInvalid, "--listen %q: want HOST:PORT", listen)
	}
	if ip := net.ParseIP(name); name != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return agency.Errorf(agency.KindInvalid, "--listen %s: only loopback addresses", listen)
	}
	return nil
}
