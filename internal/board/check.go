package board

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"agency/internal/agency"
	"agency/internal/store"
	"agency/internal/text"
)

// Limits of a message. Larger data goes into the repository, or into a blob
// that the message names.
const (
	MaxBody     = 1 << 20  // bytes of a body, and of a payload that stands in the message
	MaxPayload  = 16 << 20 // bytes of a payload that the message names by its hash
	MaxPriority = 1000
	MaxTime     = 30 * 24 * time.Hour // of a time to live and of a deadline

	maxID      = 128
	maxSubject = 1000
	inline     = 64 << 10 // a longer payload is kept as a blob, so that messages stay small
)

// check says what is wrong with a message that can be seen without looking at
// the board.
func check(m agency.Message) error {
	if m.ID == "" || len(m.ID) > maxID || !Plain(string(m.ID)) {
		return agency.Errorf(agency.KindInvalid, "message id %q: want 1 to %d bytes without control characters", text.Head(string(m.ID), 64), maxID)
	}
	if m.RunID == "" {
		return wrong(m, "names no run")
	}
	for _, part := range []func(agency.Message) error{checkRoute, checkText, checkPayload, checkTimes} {
		if err := part(m); err != nil {
			return err
		}
	}
	return nil
}

func checkRoute(m agency.Message) error {
	switch {
	case m.From == "" || len(m.From) > maxID || !Plain(m.From):
		return wrong(m, "sender %q: want 1 to %d bytes", text.Head(m.From, 64), maxID)
	case m.To == "" && m.ToRole == "":
		return wrong(m, "names no recipient: set an agent, a role or %q", agency.Everyone)
	case m.To != "" && m.ToRole != "":
		return wrong(m, "names both an agent (%s) and a role (%s)", text.Head(m.To, 64), text.Head(string(m.ToRole), 64))
	case len(m.To) > maxID || len(m.ToRole) > maxID:
		return wrong(m, "a recipient of %d bytes: want at most %d", max(len(m.To), len(m.ToRole)), maxID)
	case m.To == agency.FromHuman || m.To == agency.FromSystem:
		return wrong(m, "%s has no inbox", m.To)
	case m.To == m.From:
		return wrong(m, "%s writes to itself", m.From)
	case !m.Type.Known():
		return wrong(m, "unknown type %q", text.Head(string(m.Type), 64))
	}
	return nil
}

func checkText(m agency.Message) error {
	switch {
	case strings.TrimSpace(m.Body) == "":
		return wrong(m, "the text is empty")
	case len(m.Body) > MaxBody:
		return wrong(m, "the text has %d bytes, the most is %d", len(m.Body), MaxBody)
	case len(m.Subject) > maxSubject:
		return wrong(m, "the subject has %d bytes, the most is %d", len(m.Subject), maxSubject)
	case !utf8.ValidString(m.Body) || !utf8.ValidString(m.Subject):
		return wrong(m, "the text is not UTF-8")
	}
	return nil
}

func checkPayload(m agency.Message) error {
	switch {
	case len(m.Payload) > 0 && m.PayloadHash != "":
		return wrong(m, "has a payload and the hash of another")
	case len(m.Payload) > MaxPayload:
		return wrong(m, "the payload has %d bytes, the most is %d", len(m.Payload), MaxPayload)
	case len(m.Payload) > MaxBody:
		return agency.Errorf(agency.KindInvalid, "message %s: the payload has %d bytes, the most in a message is %d", m.ID, len(m.Payload), MaxBody).
			WithMend("store it as a blob and set payload_hash")
	case len(m.Payload) > 0 && !json.Valid(m.Payload):
		return wrong(m, "the payload is not JSON")
	}
	return nil
}

func checkTimes(m agency.Message) error {
	switch {
	case m.Priority < -MaxPriority || m.Priority > MaxPriority:
		return wrong(m, "priority %d: want -%d to %d", m.Priority, MaxPriority, MaxPriority)
	case m.TTL < 0 || m.TTL > MaxTime:
		return wrong(m, "time to live %s: want 0 to %s", m.TTL, MaxTime)
	case m.RespondWithin < 0 || m.RespondWithin > MaxTime:
		return wrong(m, "response within %s: want 0 to %s", m.RespondWithin, MaxTime)
	case m.RespondWithin > 0 && !m.RequiresResponse:
		return wrong(m, "has a deadline for a response that it does not require")
	}
	return nil
}

// keepPayload brings the payload into the form in which it is stored: what is
// large as a blob. A blob that the sender names must be there and be JSON.
func keepPayload(tx *store.Tx, m *agency.Message) error {
	if len(m.Payload) > inline {
		hash, err := tx.PutBlob(m.Payload)
		m.Payload, m.PayloadHash = nil, hash
		return err
	}
	if m.PayloadHash == "" {
		return nil
	}
	b, err := tx.Blob(m.PayloadHash)
	switch {
	case agency.KindOf(err) == agency.KindNotFound:
		return agency.Errorf(agency.KindNotFound, "message %s: payload %s is not in the store", m.ID, text.Head(string(m.PayloadHash), 64))
	case err != nil:
		return err
	case len(b) > MaxPayload:
		return wrong(*m, "the payload has %d bytes, the most is %d", len(b), MaxPayload)
	case !json.Valid(b):
		return wrong(*m, "payload %s is not JSON", m.PayloadHash)
	}
	return nil
}

func wrong(m agency.Message, format string, args ...any) error {
	return agency.Errorf(agency.KindInvalid, "message %s: "+format, append([]any{m.ID}, args...)...)
}

// Plain tells whether a name can be printed on one line.
func Plain(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// cleanPath reads a file, or path#Symbol. KindInvalid for what is no file inside
// of the repository.
func cleanPath(s string) (string, error) {
	file, symbol, hasSymbol := strings.Cut(s, "#")
	clean := path.Clean(file)
	switch {
	case file == "" || len(s) > 4096 || !utf8.ValidString(s) || strings.ContainsAny(s, "\\\x00"),
		hasSymbol && symbol == "", strings.HasSuffix(file, "/"), clean == ".":
		return "", agency.Errorf(agency.KindInvalid, "path %.80q: want a file of the repository, or path#Symbol", s)
	case path.IsAbs(clean), slices.Contains(strings.Split(file, "/"), ".."):
		return "", agency.Errorf(agency.KindInvalid, "path %.80q leads out of the repository", s)
	}
	if hasSymbol {
		clean += "#" + symbol
	}
	return clean, nil
}
