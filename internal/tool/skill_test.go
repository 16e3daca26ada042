package tool

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agency/internal/agency"
)

// skilled is a checkout and a user's folder with skills of all kinds.
func skilled(t *testing.T) *Files {
	t.Helper()
	repo, own, outside := t.TempDir(), t.TempDir(), t.TempDir()
	write := func(dir, name, text string) {
		at := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	skill := func(name, about, body string) string {
		return "---\nname: " + name + "\ndescription: " + about + "\nlicense: MIT\n---\n" + body + "\n"
	}
	write(repo, ".claude/skills/pdf/SKILL.md", skill("pdf", "Fill forms", "Use the form tool."))
	write(repo, ".claude/skills/pdf/scripts/fill.sh", "echo filled")
	write(repo, ".claude/skills/pdf/logo.png", "\x89PNG\x00\x00")
	write(repo, ".agents/skills/both/SKILL.md", skill("both", "The repository's", "Here."))
	write(own, "both/SKILL.md", skill("both", "The user's", "There."))
	write(own, "mine/SKILL.md", "\xef\xbb\xbf"+strings.ReplaceAll(skill("mine", "My way", "Mine."), "\n", "\r\n"))
	write(own, "stars/SKILL.md", "---\nname: stars\ndescription: 'For globs: *.go & more'\n---")
	write(outside, "SKILL.md", skill("linked", "d", "secret"))
	write(outside, "secret.txt", "secret")
	for name, text := range map[string]string{
		"other": skill("another", "d", "b"), "nobody": "no head", "nothing": skill("nothing", "", "b"), "broken": "---\nname: [\n---\nb",
		"open": "---\nname: open\n", "Upper": skill("Upper", "d", "b"), "huge": skill("huge", "d", strings.Repeat("x", maxSkillFile)),
		"listed": "---\na: &a [1]\nb: [*a, *a]\nname: listed\ndescription: d\n---\nb",
		"nul":    skill("nul", "d", "\x00"), "deep": "---\nname: deep\ndescription: d\na: " + strings.Repeat("[", 16000) + "\n---\nb", "grows": "---\na: &a [1]\nb: *a\nname: grows\ndescription: d\n---\nb",
	} {
		write(repo, ".claude/skills/"+name+"/SKILL.md", text)
	}
	for at, to := range map[string]string{
		filepath.Join(repo, ".claude/skills/linked"): outside, filepath.Join(repo, ".gemini"): outside,
		filepath.Join(repo, ".claude/skills/pdf/out.txt"): filepath.Join(outside, "secret.txt"), filepath.Join(own, "linked"): outside,
	} {
		if err := os.Symlink(to, at); err != nil {
			t.Fatal(err)
		}
	}
	f, err := OpenFiles(repo, "/repo")
	if err == nil {
		err = f.SetSkills(own)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// However many folders there are, and whatever they hold, looking is bounded.
func TestSkillsAreBounded(t *testing.T) {
	repo := t.TempDir()
	for i := range 2 * maxSkillTries {
		dir := filepath.Join(repo, ".claude/skills", fmt.Sprintf("s%04d", i))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		text := "---\nname: " + filepath.Base(dir) + "\ndescription: d\n---\nb\n"
		if i%8 != 0 {
			text = "---\nname: other\ndescription: d\n---\nb\n"
		}
		if err := os.WriteFile(filepath.Join(dir, SkillFile), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f, err := OpenFiles(repo, "/repo")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if n := len(f.Skills()); n != maxSkillTries/8 {
		t.Errorf("%d skills of %d folders that may be looked at", n, maxSkillTries)
	}
	if faults := f.SkillFaults(); faults[len(faults)-1] != "skills: more than 256 folders, and the rest is not looked at" {
		t.Errorf("faults %q", faults)
	}
}

// What is left out is named with its reason; what is no skill is not.
func TestSkillFaults(t *testing.T) {
	f := skilled(t)
	faults := strings.Join(f.SkillFaults(), "\n")
	for name, why := range map[string]string{
		"other": `its name is "another", and its folder another`, "nobody": "does not begin with a head", "nothing": "it has no description",
		"broken": "does not begin with a head", "Upper": "its folder's name is more than", "huge": "too large", "nul": "does not begin", "grows": "references",
	} {
		if want := `skill ".claude/skills/` + name + `" is left out: `; !strings.Contains(faults, want) || !strings.Contains(faults, why) {
			t.Errorf("%s %s: not in\n%s", want, why, faults)
		}
	}
	if strings.Contains(faults, "linked") || strings.Contains(faults, "pdf") {
		t.Errorf("faults:\n%s", faults)
	}
}

// Only what is a skill is one, by no link, and the repository's counts before the user's.
func TestSkills(t *testing.T) {
	f := skilled(t)
	var got []string
	for _, s := range f.Skills() {
		got = append(got, s.Name+": "+s.Description)
	}
	if list := strings.Join(got, "; "); list != "both: The repository's; pdf: Fill forms; mine: My way; stars: For globs: *.go & more" {
		t.Errorf("the skills are %s", list)
	}
	if list := SkillList(f.Skills()); !strings.Contains(list, "- pdf (repository): Fill forms\n") || !strings.Contains(list, "- mine (user): My way\n") {
		t.Errorf("listed as\n%s", list)
	}
	bare, err := OpenFiles(t.TempDir(), "/repo")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = bare.Close() }()
	if err := bare.SetSkills(filepath.Join(t.TempDir(), "none")); err != nil || len(bare.Skills()) > 0 {
		t.Errorf("without any: %v, %v", bare.Skills(), err)
	}
}

func TestUseSkill(t *testing.T) {
	f := skilled(t)
	for name, tc := range map[string]struct {
		skill, file string
		want        string
		kind        agency.Kind
	}{
		"instructions":    {"pdf", "", "Use the form tool.\n</data-", 0},
		"its files":       {"pdf", "", "- logo.png\n- scripts/fill.sh", 0},
		"whose it is":     {"pdf", "", "[skill pdf: content of the repository, in .claude/skills/pdf;", 0},
		"the user's":      {"mine", "", "[skill mine of the user, in /", 0},
		"a file":          {"pdf", "scripts/fill.sh", "echo filled", 0},
		"nobody's":        {"pfd", "", `there is no skill "pfd" (did you mean pdf?); there are: both, pdf, mine, stars`, agency.KindNotFound},
		"no such file":    {"pdf", "x", `skill pdf has no file "x"`, agency.KindNotFound},
		"a link":          {"pdf", "out.txt", "has no file", agency.KindNotFound},
		"out of it":       {"pdf", "../both/SKILL.md", "has no file", agency.KindNotFound},
		"far out of it":   {"pdf", "../../../../../etc/passwd", "has no file", agency.KindNotFound},
		"a folder":        {"pdf", "scripts", "has no file", agency.KindNotFound},
		"no text":         {"pdf", "logo.png", "is a binary file", agency.KindInvalid},
		"one by a link":   {"linked", "", "there is no skill", agency.KindNotFound},
		"with a NUL name": {"pdf\x00", "", "there is no skill", agency.KindNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := f.UseSkill(tc.skill, tc.file)
			if err != nil {
				got = err.Error()
			}
			if !strings.Contains(got, tc.want) || (err != nil) != (tc.kind != 0) || err != nil && agency.KindOf(err) != tc.kind || strings.Contains(got, "secret") {
				t.Errorf("answers %q, %v", got, err)
			}
		})
	}
}
