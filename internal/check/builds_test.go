package check

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

// TestBuilding has a line build what its tests need where it does nothing else.
func TestBuilding(t *testing.T) {
	for line, want := range map[string]string{
		"go test ./...":                    "go test -run='^$' ./...",
		" CGO_ENABLED=0 go test -race .":   " CGO_ENABLED=0 go test -run='^$' -race .",
		"go test -run TestA ./...":         "",
		"go vet ./... && go test ./...":    "",
		"go test ./a; go test ./b":         "",
		"go test ./... > out":              "",
		"cd web && go test ./...":          "",
		"go test -c ./a":                   "",
		"go generate ./... $(go test ./a)": "",
		"pytest -q":                        "",
		"make test":                        "",
	} {
		got, ok := Building(line, nil)
		if ok != (want != "") || ok && got != want {
			t.Errorf("`%s`: `%s`, %t; want `%s`", line, got, ok, want)
		}
	}
}

// Commands wait for all who build, and for nobody else; whoever waits for the longest of
// them may leave.
func TestBuildsHoldBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b builds
		if err := b.built(t.Context()); err != nil {
			t.Fatal(err)
		}
		first, second := b.Hold(), b.Hold()
		ctx, leave := context.WithCancelCause(t.Context())
		left, done := make(chan error, 1), make(chan error, 1)
		go func() { left <- b.built(ctx) }()
		go func() { done <- b.built(t.Context()) }()
		first()
		first()
		synctest.Wait()
		why := errors.New("left")
		leave(why)
		if err := <-left; !errors.Is(err, why) {
			t.Errorf("%v for who left", err)
		}
		select {
		case err := <-done:
			t.Errorf("it went on while one builds: %v", err)
		default:
		}
		second()
		if err := errors.Join(<-done, b.built(t.Context())); err != nil {
			t.Error(err)
		}
	})
}
