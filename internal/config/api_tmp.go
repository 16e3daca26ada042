package config

import (
	"regexp"
	"time"

	"agency/internal/agency"
)

// Load layers defaults, the user's file, the repository's file and flags. Its
// error holds every Fault of every file and is KindInvalid.
func Load(in Input) (*Loaded, error) { return nil, nil }

// Origin is where a dotted key's effective value came from.
func (l *Loaded) Origin(key string) Origin { return Origin{} }

// Supported names every setting whose feature is not in this version and that
// a run could not honour; KindInvalid.
func (l *Loaded) Supported() error { return nil }

// TrustHash binds the trust of a user to what the repository's file widens;
// "" when it widens nothing.
func (l *Loaded) TrustHash() agency.Hash { return "" }

// RequireTrust fails with KindInvalid, naming `agency trust`, unless nothing
// is widened, the store trusts it for this repository, or AGENCY_TRUST=1.
func (l *Loaded) RequireTrust(ts *TrustStore, repo string) error { return nil }

// Secrets expands the keys of the named providers from the environment. An
// unset ${NAME} is KindInvalid and names the variable; so is a repository's
// file that needs trust and has none.
func (l *Loaded) Secrets(providers []string) (map[string]string, error) { return nil, nil }

// SecretsFor does the same for the providers as a run's copy has them: a
// client that resumes or answers brings the keys that the copy names.
func (l *Loaded) SecretsFor(run Config, providers []string) (map[string]string, error) {
	return nil, nil
}

// Widening is one setting that reaches further than the user's own.
type Widening struct {
	Key  string // dotted
	Have string // the user's value, secrets masked
	Want string // the repository's value, secrets masked
	Line int    // in the repository's file, 0 for a file of its own
	bind string // what the trust is bound to: the exact value
}

// ShowOptions chooses what Show prints.
type ShowOptions struct{ Origins bool }

// Show is the effective configuration as YAML, each key with its origin and a
// mark where it has no effect in this version. Secrets are masked.
func Show(l *Loaded, o ShowOptions) []byte { return nil }

// Schema is the JSON schema of agency.yaml.
func Schema() []byte { return nil }

// Reference is the configuration's reference in Markdown.
func Reference() []byte { return nil }

// Detected are the commands that check/detect found.
type Detected struct {
	Test, Lint, Typecheck, Build, Setup string
	// Notes are said in comments above the commands, for instance how the
	// test command was found.
	Notes []string
}

// Template is the agency.yaml that init writes.
func Template(d Detected) []byte { return nil }

// Folders are the places of INTERFACES 7.
type Folders struct {
	Config string // holds config.yaml
	State  string
	Cache  string
	Socket string
}

// ConfigFile is the user's own file.
func (f Folders) ConfigFile() string { return f.Config + "/config.yaml" }

// FindFolders finds the folders without making any.
func FindFolders(env Env) (Folders, error) { return Folders{}, nil }

// MakeSocketDir makes the socket folder, 0700, and refuses one that another
// user owns or can enter.
func (f Folders) MakeSocketDir() error { return nil }

// HostIdle is AGENCY_HOST_IDLE, the time after which an idle host leaves; 60 s.
func HostIdle(env Env) (time.Duration, error) { return time.Minute, nil }

// TrustStore remembers which widenings the user accepted, per repository.
type TrustStore struct{ path string }

// Trust is one acceptance.
type Trust struct {
	Repo string      `json:"repo"`
	Hash agency.Hash `json:"hash"`
	Time time.Time   `json:"time"`
}

// NewTrustStore keeps its file in the state folder, which must exist.
func NewTrustStore(stateDir string, now func() time.Time) *TrustStore { return &TrustStore{} }

// Trusted tells whether the user accepted this hash for this repository.
func (t *TrustStore) Trusted(repo string, hash agency.Hash) (bool, error) { return false, nil }

// Accept trusts this hash for this repository, instead of an earlier one.
func (t *TrustStore) Accept(repo string, hash agency.Hash) error { return nil }

// Revoke forgets a repository; it tells whether there was something.
func (t *TrustStore) Revoke(repo string) (bool, error) { return false, nil }

// List is everything trusted, ordered by repository.
func (t *TrustStore) List() ([]Trust, error) { return nil, nil }

var refForm = regexp.MustCompile(`^\$\{([A-Za-z_][A-Za-z0-9_]*)\}$`)

func pureRef(s string) string {
	if m := refForm.FindStringSubmatch(s); m != nil {
		return m[1]
	}
	return ""
}

func roles() []string { return nil }
