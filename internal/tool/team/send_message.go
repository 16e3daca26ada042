package team

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"agency/internal/agency"
	"agency/internal/tool"

	"github.com/invopop/jsonschema"
)

type sendMessageArgs struct {
	To        string        `json:"to,omitempty" jsonschema_description:"An agent's id; or a role, whose first free agent gets it; or * for every agent at work. An answer goes to whoever wrote the message where this is left out."`
	Type      letterType    `json:"type"`
	Subject   string        `json:"subject" jsonschema_description:"What it is about, in one line."`
	Body      string        `json:"body" jsonschema_description:"Everything that the reader needs; what is large stands in a file that you name."`
	Payload   letterPayload `json:"payload,omitempty"`
	InReplyTo string        `json:"in_reply_to,omitempty" jsonschema_description:"Id of the message that this one answers."`
	Priority  int           `json:"priority,omitempty" jsonschema_description:"Higher is read first; 0 where nothing is urgent."`
	Within    int           `json:"respond_within_minutes,omitempty" jsonschema_description:"Set where you need an answer: in how many minutes. Where none has come by then you are told, once."`
}

// letterTypes are the types that an agent may send. The others are a person's,
// the overseer's or the harness's own.
func letterTypes() []agency.MessageType {
	return []agency.MessageType{
		agency.MessageTaskAssignment, agency.MessageTaskAccepted, agency.MessageTaskRejected, agency.MessageTaskStarted,
		agency.MessageTaskProgress, agency.MessageTaskComplete, agency.MessageTaskBlocked, agency.MessageTaskFailed,
		agency.MessageSubmitForReview, agency.MessageReviewFeedback, agency.MessageReviewApproved, agency.MessageReviewRejected,
		agency.MessageRevisionRequested,
		agency.MessageRequestClarification, agency.MessageProvideClarification, agency.MessageRequestInput, agency.MessageProvideInput,
		agency.MessageEscalate, agency.MessageFileModified, agency.MessageTestResult, agency.MessageErrorOccurred,
	}
}

type letterType string

// JSONSchema is called by the schema's maker.
func (letterType) JSONSchema() *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, t := range letterTypes() {
		s.Enum = append(s.Enum, string(t))
	}
	return s
}

// letterPayload is any JSON object.
type letterPayload struct{ raw json.RawMessage }

// JSONSchema is called by the schema's maker.
func (letterPayload) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "object", Description: "Data for the reader, where there is some."}
}

// UnmarshalJSON takes an object only.
func (p *letterPayload) UnmarshalJSON(raw []byte) error {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || raw[0] != '{' {
		return fmt.Errorf(`argument "payload" is not an object`)
	}
	p.raw = bytes.Clone(raw)
	return nil
}

const (
	// maxLetter is the most bytes of a letter's body and of its payload.
	maxLetter = 64 << 10
	// maxWithin is the most minutes in which an answer can be asked for.
	maxWithin = 30 * 24 * 60
)

func sendMessage() tool.Tool {
	return tool.Define(texts, "send_message", tool.Write, func(ctx context.Context, env *tool.Env, a sendMessageArgs) (tool.Result, error) {
		typ := agency.MessageType(a.Type)
		switch {
		case strings.TrimSpace(a.To) == "" && a.InReplyTo == "":
			return tool.Refuse(`"to" is empty, and so is "in_reply_to"`), nil
		case a.Within < 0 || a.Within > maxWithin:
			return tool.Refuse(fmt.Sprintf("respond_within_minutes is %d: want 1 to %d, or leave it out", a.Within, maxWithin)), nil
		case !slices.Contains(letterTypes(), typ):
			return tool.Refuse(fmt.Sprintf("type %s is not one that an agent sends", tool.QuoteName(string(a.Type)))), nil
		case strings.TrimSpace(a.Subject) == "" || strings.TrimSpace(a.Body) == "":
			return tool.Refuse("the subject or the body is empty"), nil
		case len(a.Body) > maxLetter || len(a.Payload.raw) > maxLetter:
			return tool.Refuse("the body or the payload is longer than " + tool.Size(maxLetter) + "; write it into a file and name that"), nil
		}
		return Posted(env.Mail.Send(ctx, agency.Message{
			To: strings.TrimSpace(a.To), Type: typ, Subject: a.Subject, Body: a.Body, Payload: a.Payload.raw,
			InReplyTo: agency.MessageID(a.InReplyTo), Priority: a.Priority, RespondWithin: time.Duration(a.Within) * time.Minute,
		}))
	}).OnBoard()
}

// Posted says who will read what was sent.
func Posted(sent tool.Sent, err error) (tool.Result, error) {
	if err != nil {
		return tool.Result{}, err
	}
	told := ""
	if sent.Within > 0 {
		told = fmt.Sprintf(" If no answer has come in %s, you are told.", sent.Within)
	}
	if len(sent.Listeners) == 0 {
		return tool.OK(fmt.Sprintf("sent as %s. Nobody who could read it is at work now; it waits.%s", sent.ID, told)), nil
	}
	return tool.OK(fmt.Sprintf("sent as %s; it is read before the next turn of %s.%s", sent.ID, tool.Joined(sent.Listeners, " or "), told)), nil
}
