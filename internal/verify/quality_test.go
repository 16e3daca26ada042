package verify_test

import (
	"context"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/verify"
)

const shellGo = `package p

import "os/exec"

func Pack(dir string) error { return exec.Command("sh", "-c", "tar cf a.tar "+dir).Run() }

func Drop(dir string) error { return exec.Command("sh", "-c", "rm -rf "+dir).Run() }
`

// A low score goes back once, and then is named, or blocks where that is asked for; what the
// contract itself asks for binds. No score makes a claim pass whose tests fail.
func TestLowScoreGoesBackOnce(t *testing.T) {
	w := newWorld(t, baseFiles())
	rules := &agency.QualityRules{Least: map[agency.Dimension]float64{agency.Security: 60}}
	w.options.Quality = func(context.Context, agency.RunID) (*agency.QualityRules, error) { return rules, nil }
	w.verifier = verify.New(w.options)
	spec := w.change(map[string]string{"sub.go": goodGo, "pack.go": shellGo})
	again := func(edit func(*verify.Spec)) agency.Verdict {
		spec.Attempt++
		s := spec
		edit(&s)
		return w.verify(s)
	}
	v := again(func(*verify.Spec) {})
	wants(t, v, false, "quality: the score is low: security 20 is below 60")
	wants(t, v, false, "quality: pack.go:5: critical security: a command line for a shell")
	v = again(func(s *verify.Spec) { s.LowBefore = true })
	wants(t, v, true, "quality: the score is low: security 20 is below 60")
	if len(v.Weakened) != 0 || v.Quality == nil || len(v.Quality.Low) != 1 || !strings.Contains(v.Quality.Line(), "security 20") {
		t.Errorf("weakened %v, quality %+v", v.Weakened, v.Quality)
	}
	wants(t, again(func(s *verify.Spec) {
		s.LowBefore, s.Thresholds = true, map[agency.Dimension]float64{agency.Security: 50}
	}), false, "quality_thresholds of the contract: security 20 is below 50")
	rules.Block = true
	v = again(func(s *verify.Spec) { s.LowBefore = true })
	wants(t, v, true, "a person has to accept it")
	if len(v.Weakened) != 1 || v.Weakened[0].Kind != agency.WeakQuality || v.Weakened[0].Name != "main: security 20 is below 60" {
		t.Errorf("weakened %v", v.Weakened)
	}
	rules.Least[agency.Security] = 0
	wants(t, again(func(*verify.Spec) {}), true)

	made := spec.Attempt
	spec = w.change(map[string]string{"sub.go": goodGo, "pack.go": shellGo, "add.go": strings.Replace(addGo, "+", "-", 1)})
	spec.Attempt = made // a step of the same key gives the verdict that it gave
	if v = again(func(*verify.Spec) {}); v.Pass || v.Quality != nil {
		t.Errorf("a failing claim: pass %v, quality %+v", v.Pass, v.Quality)
	}
}

// What only moved is not what the change brought.
func TestMovedLinesAreNotScored(t *testing.T) {
	files := baseFiles()
	files["pack.go"] = shellGo
	w := newWorld(t, files)
	w.options.Quality = func(context.Context, agency.RunID) (*agency.QualityRules, error) { return &agency.QualityRules{}, nil }
	w.verifier = verify.New(w.options)
	v := w.verify(w.change(map[string]string{"sub.go": goodGo, "pack.go": "", "moved.go": shellGo}))
	wants(t, v, true)
	if v.Quality == nil {
		t.Fatal("no score")
	}
	for _, f := range v.Quality.Findings {
		if f.Rule == "shell-injection" {
			t.Errorf("finding %v", f)
		}
	}
}
