package verify_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/verify/verifytest"
)

// A claim that holds more of the host's secrets than its base fails, whatever
// file they stand in and however they are written; one that moves what was
// there, or holds what is only called a key, does not.
func TestSecretsDoNotLand(t *testing.T) {
	const key, old = "sk-ant-api03-R2D2c3poLuke9xWz-7fKqPvN3mYt8aQ", "AIzaSyD9x2kQ7vLw8mNfR3tYpZ0bHcJ4sXuEoG"
	files := baseFiles()
	files["old.env"] = "KEY=" + old + "\n"
	w := newWorld(t, files)
	w.db.SetRedact(agency.NewRedactor(key, old, "ollama").Bytes)
	for name, tc := range verifytest.Some(map[string]struct {
		files map[string]string
		named string
	}{
		"plain":     {map[string]string{"conf/k.txt": "a\nkey: " + key + "\n"}, "conf/k.txt"},
		"base64":    {map[string]string{"k.b64": base64.StdEncoding.EncodeToString([]byte("ada:" + key))}, "k.b64"},
		"binary":    {map[string]string{"k.bin": "\x00\x01" + key}, "k.bin"},
		"far":       {map[string]string{"k.log": strings.Repeat("a line\n", 100_000) + key}, "k.log"},
		"its name":  {map[string]string{"k-" + key + ".txt": "x\n"}, "k-" + agency.Redacted},
		"one more":  {map[string]string{"old.env": "KEY=" + old + "\nAGAIN=" + old + "\n"}, "old.env"},
		"moved":     {map[string]string{"old.env": "", "new.env": "A=1\nKEY=" + old + "\n"}, ""},
		"none such": {map[string]string{"local.env": "KEY=ollama\n", "mark.txt": agency.Redacted + "\n"}, ""},
	}) {
		tc.files["sub.go"] = goodGo
		v := w.verify(w.change(tc.files))
		said := strings.Join(v.Reasons, "\n")
		if named := strings.Contains(said, "the change holds a secret of the host"); named != (tc.named != "") || v.Pass == named || !strings.Contains(said, tc.named) {
			t.Errorf("%s: %+v", name, v)
		}
		if strings.Contains(said, key) {
			t.Errorf("%s: the reason holds the secret: %s", name, said)
		}
	}
}
