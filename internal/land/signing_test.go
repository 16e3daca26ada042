package land_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agency/internal/git/gittest"
	"agency/internal/land"
)

// userConfig is the user's own git configuration in this test.
func userConfig(t *testing.T, text string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "gitconfig")
	gittest.WriteFiles(t, filepath.Dir(path), "gitconfig", text)
	t.Setenv("LAND_GITCONFIG", path)
	return path
}

func sshKey(t *testing.T) (key, signers string) {
	t.Helper()
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		t.Skip("no ssh-keygen here")
	}
	dir := t.TempDir()
	key, signers = filepath.Join(dir, "key"), filepath.Join(dir, "signers")
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	public, err := os.ReadFile(key + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	gittest.WriteFiles(t, dir, "signers", "* "+string(public))
	return key, signers
}

// The final merge is signed as the user's git is configured, and nothing else.
// What a repository's own configuration names is not executed.
func TestTheFinalMergeIsSigned(t *testing.T) {
	key, signers := sshKey(t)
	userConfig(t, "[commit]\n\tgpgSign = true\n[gpg]\n\tformat = ssh\n[user]\n\tsigningKey = "+key+"\n")
	witness := filepath.Join(t.TempDir(), "ran")
	evil := gittest.Script(t, filepath.Join(t.TempDir(), "evil"), witness)
	w := landed(t, false, func(r *gittest.Repo) {
		for _, k := range []string{"gpg.program", "gpg.ssh.program", "gpg.openpgp.program", "gpg.ssh.defaultKeyCommand"} {
			r.Git("config", k, evil)
		}
	})
	w.mustMerge(land.MergeSpec{})
	for _, k := range []string{"gpg.program", "gpg.ssh.program", "gpg.openpgp.program"} {
		w.repo.Git("config", "--unset", k)
	}
	w.repo.Git("-c", "gpg.ssh.allowedSignersFile="+signers, "verify-commit", target)
	if out, err := w.repo.Try("verify-commit", branch); err == nil {
		t.Errorf("a landing is signed: %s", out)
	}
	if ran, err := os.ReadFile(witness); err == nil {
		t.Errorf("the repository's program ran:\n%s", ran)
	}
	w.clean()
}

func TestTheFinalMergeIsSignedByGPG(t *testing.T) {
	if _, err := exec.LookPath("gpg"); err != nil {
		t.Skip("no gpg here")
	}
	home, err := os.MkdirTemp("", "gpg") // its agent's socket has a short name
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		kill := exec.Command("gpgconf", "--kill", "all")
		kill.Env = append(os.Environ(), "GNUPGHOME="+home)
		_ = kill.Run()
		_ = os.RemoveAll(home)
	})
	make := exec.Command("gpg", "--batch", "--quiet", "--passphrase", "", "--quick-generate-key", "A Tester <tester@localhost>", "ed25519", "sign", "0")
	make.Env = append(os.Environ(), "GNUPGHOME="+home)
	if out, err := make.CombinedOutput(); err != nil {
		t.Skipf("gpg makes no key here: %v %s", err, out)
	}
	t.Setenv("LAND_GNUPGHOME", home)
	userConfig(t, "[commit]\n\tgpgSign = true\n[user]\n\tsigningKey = tester@localhost\n")
	w := landed(t, false, nil)
	w.mustMerge(land.MergeSpec{})
	verify := exec.Command("git", "-C", w.repo.Dir, "verify-commit", target)
	verify.Env = append(os.Environ(), "GNUPGHOME="+home, "GIT_CONFIG_GLOBAL=/dev/null")
	if out, err := verify.CombinedOutput(); err != nil {
		t.Errorf("%v %s", err, out)
	}
}

// A signer that fails is named; nothing is half merged, and mended it merges.
func TestAFailingSignerMergesNothing(t *testing.T) {
	dir := t.TempDir()
	fail := filepath.Join(dir, "fail")
	gittest.WriteFiles(t, dir, "fail", "#!/bin/sh\necho no key is plugged in >&2\nexit 1\n")
	if err := os.Chmod(fail, 0o700); err != nil {
		t.Fatal(err)
	}
	config := userConfig(t, "[commit]\n\tgpgSign = true\n[gpg]\n\tprogram = "+fail+"\n")
	w := landed(t, false, nil)
	notObjects := func(rel string) bool { return rel == ".git/objects" }
	before := gittest.Fingerprint(t, w.repo.Dir, notObjects)
	out := w.merge("merge", land.MergeSpec{})
	if out.Refused == nil || out.Refused.Cause != land.CauseSigner || !strings.Contains(out.Reason, "gpg failed to sign") || !strings.Contains(out.Reason, fail) || out.Mend == "" {
		t.Fatalf("%+v", out)
	}
	if diff := cmp.Diff(before, gittest.Fingerprint(t, w.repo.Dir, notObjects)); diff != "" {
		t.Errorf("the user's repository changed: %s", diff)
	}
	w.sound()
	if err := os.WriteFile(config, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w.mustMerge(land.MergeSpec{})
}

// Root leaves no files of its own in another user's repository.
func TestAnotherUsersCheckoutIsRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can write what is not its own")
	}
	w := landed(t, false, nil)
	chown := func(uid int) {
		t.Helper()
		err := filepath.WalkDir(w.repo.Dir, func(p string, _ os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			return os.Lchown(p, uid, uid)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	chown(65534)
	before := gittest.Fingerprint(t, w.repo.Dir, nil)
	out := w.merge("merge", land.MergeSpec{})
	if out.Refused == nil || out.Refused.Cause != land.CauseOwner || !strings.Contains(out.Reason, "nobody") {
		t.Errorf("%+v", out)
	}
	if diff := cmp.Diff(before, gittest.Fingerprint(t, w.repo.Dir, nil)); diff != "" {
		t.Errorf("the user's repository changed: %s", diff)
	}
	chown(0)
	w.mustMerge(land.MergeSpec{})
}
