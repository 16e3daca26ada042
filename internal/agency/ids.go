package agency

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"io"
	"strconv"
	"strings"
)

const (
	lower  = "abcdefghijklmnopqrstuvwxyz"
	upper  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits = "0123456789"
)

// Identifiers. Those of runs are made by NewRunID, those of contracts come
// from people and plans and are kept verbatim, all others are derived paths
// such as "RUN/main/attempt-2", so that a repeated step finds its own work.
type (
	RunID      string
	ContractID string
	FeatureID  string
	AgentID    string
	SessionID  string
	GateID     string
	MessageID  string
	RoleID     string
	ReceiptID  string
	// StepKey is the idempotency key of a durable step; it stands in the
	// trailer Agency-Step of the commit that the step made.
	StepKey string
	// Hash is the lower-case hexadecimal SHA-256 of a blob's content.
	Hash string
	// OID is a git object id in hexadecimal.
	OID string
)

// Short is the id as people are shown it, who tell by it what they have seen before.
func (o OID) Short() string { return string(o[:min(len(o), 10)]) }

// NewRunID makes the id of a run from the first words of its goal and eight
// characters of chance read from random.
func NewRunID(goal string, random io.Reader) (RunID, error) {
	var b [5]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return "", err
	}
	tail := strings.ToLower(base32.StdEncoding.EncodeToString(b[:]))
	return RunID(slug(goal, 24) + "-" + tail), nil
}

func slug(s string, max int) string {
	var b strings.Builder
	dash := false
	for _, r := range strings.ToLower(s) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			if dash && b.Len() > 0 {
				b.WriteByte('-')
			}
			dash = false
			b.WriteRune(r)
		default:
			dash = true
		}
		if b.Len() >= max {
			break
		}
	}
	out := b.String()
	if i := strings.LastIndexByte(out, '-'); len(out) >= max && i > max/2 {
		out = out[:i]
	}
	if out == "" {
		return "run"
	}
	return out
}

// The contracts that every run of a kind has under the same id.
const (
	MainContract ContractID = "main" // the goal itself: of a run without a plan
	PlanContract ContractID = "plan" // in which the manager of the run plans
	// OverseerContract is what the model-backed overseer spends under; nobody has it.
	OverseerContract ContractID = "overseer"
)

// The roles (docs/design.md, What a model is shown).
const (
	RoleProjectManager RoleID = "project_manager"
	RoleScaffolder     RoleID = "scaffolder"
	RoleTestEngineer   RoleID = "test_engineer"
	RoleReviewer       RoleID = "reviewer"
	RoleOverseer       RoleID = "overseer"
	RoleCleanup        RoleID = "cleanup"
	RoleGeneralist     RoleID = "generalist"
	RoleVisionary      RoleID = "t1_visionary"
	RoleLead           RoleID = "t2_lead"
	RoleArchitect      RoleID = "t2_architect"
	RoleSquadLead      RoleID = "t3_lead"
	RoleImplementer    RoleID = "t4_implementer"
	RoleVerifier       RoleID = "t5_verifier"
	// RoleAgent is that of an agent of a file: who it is and what it may do stands there.
	RoleAgent RoleID = "agent"
)

// MemberID is the agent that works on a contract of a team.
func MemberID(role RoleID, contract ContractID) AgentID {
	return AgentID(string(role) + "-" + string(contract))
}

// PostID is the contract of an agent at a place of a composition: the agent's name, and
// what tells it from its other places in the run.
func PostID(place, agent string) ContractID {
	sum := sha256.Sum256([]byte(place + "\x00" + agent))
	return ContractID(fmt.Sprintf("%.40s-%x", agent, sum[:6]))
}

// Post is the name of the agent whose post the contract is; another id is given as it is.
func (id ContractID) Post() string {
	if i := len(id) - 13; i > 0 && id[i] == '-' && strings.Trim(string(id[i+1:]), "0123456789abcdef") == "" {
		return string(id[:i])
	}
	return string(id)
}

// JoinIDs writes ids one after the other.
func JoinIDs[ID ~string](ids []ID, sep string) string {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = string(id)
	}
	return strings.Join(names, sep)
}

// NumberName is the name of a run by its number; "" where it has none.
func NumberName(number int) string {
	if number == 0 {
		return ""
	}
	return fmt.Sprintf("agency-%d", number)
}

// Beside is the id of a run with its number behind it, for people.
func (id RunID) Beside(number int) string {
	if number == 0 {
		return string(id)
	}
	return string(id) + " (" + NumberName(number) + ")"
}

// mostDigits is how many digits a number has at most: the random end of an id has more.
const mostDigits = 6

// NumberOf is the number that a name of a run is: 42, #42 or agency-42; 0: it is none.
func NumberOf(name string) int {
	digits := strings.TrimPrefix(strings.TrimPrefix(name, "agency-"), "#")
	n, err := strconv.Atoi(digits)
	if err != nil || n < 1 || strconv.Itoa(n) != digits || len(digits) > mostDigits {
		return 0
	}
	return n
}

// CheckRunID says what is wrong with a run id that somebody typed.
func CheckRunID(id RunID) error {
	if len(id) < 4 || len(id) > 40 || strings.Trim(string(id), lower+digits+"-") != "" {
		return Errorf(KindInvalid, "run id %q: want 4 to 40 of a-z, 0-9 and -", id)
	}
	if id[0] == '-' || NumberOf(string(id)) != 0 { // an option, the number of another run
		return Errorf(KindInvalid, "run id %q: want a letter or a digit first, and no number alone", id)
	}
	return nil
}

// CheckContractID says what is wrong with a contract's id: ids become folder
// and branch names, so the forms that git or a file system refuses are refused
// here (docs/design.md, Contracts).
func CheckContractID(id ContractID) error {
	s := string(id)
	switch {
	case s == "" || len(s) > 64 || strings.Trim(s, lower+upper+digits+"._-") != "" || strings.Contains("._-", s[:1]):
		return Errorf(KindInvalid, "contract id %q: want a letter or digit, then up to 63 of letters, digits, '.', '_' and '-'", s)
	case strings.Contains(s, ".."):
		return Errorf(KindInvalid, "contract id %q: contains '..'", s)
	case strings.HasSuffix(s, "."), strings.HasSuffix(s, ".lock"):
		return Errorf(KindInvalid, "contract id %q: ends in '.' or '.lock'", s)
	}
	return nil
}

// Fence is a fencing token. Epoch rises each time a host takes the store; N
// rises with each new holder of what is fenced. A write that carries a lower
// token than the store knows comes from a holder that has been superseded and
// is refused in the same transaction (docs/design.md, Contracts).
type Fence struct {
	Epoch int64 `json:"epoch"`
	N     int64 `json:"n"`
}

// Less orders tokens by epoch, then by holder.
func (f Fence) Less(g Fence) bool {
	if f.Epoch != g.Epoch {
		return f.Epoch < g.Epoch
	}
	return f.N < g.N
}
