package board

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/event"
	"agency/internal/store"
)

func (d *desk) claim(who Recipient, types ...agency.MessageType) (id agency.MessageID) {
	d.Helper()
	d.do(func(tx *store.Tx) error {
		m, _, err := Claim(tx, who, types...)
		id = m.ID
		return err
	})
	return id
}

func (d *desk) all() (ms []agency.Message) {
	d.Helper()
	d.do(func(tx *store.Tx) (err error) { ms, err = Messages(tx, run); return err })
	return ms
}

func as(agent agency.AgentID, session agency.SessionID) Recipient {
	return Recipient{Run: run, Agent: agent, Role: "scaffolder", Session: session}
}

// msg makes a message from one agent to another, or to a role by '@role'.
func msg(id, from, to string) agency.Message {
	m := agency.Message{ID: agency.MessageID(id), RunID: run, From: from, To: to, Type: agency.MessageTaskProgress, Body: "text of " + id}
	if role, ok := strings.CutPrefix(to, "@"); ok {
		m.To, m.ToRole = "", agency.RoleID(role)
	}
	return m
}

func TestTheOrderOfClaims(t *testing.T) {
	d := newDesk(t)
	d.join("ann", "bob")
	low, high, role, odd := msg("low", "bob", "ann"), msg("high", "bob", "ann"), msg("role", "bob", "@scaffolder"), msg("odd", "bob", "ann")
	low.Priority, high.Priority, role.Priority, odd.Priority = -5, 1000, 7, -1000
	odd.Type = agency.MessageHalt
	d.send(low, msg("first", "bob", "ann"), role, msg("second", "bob", "ann"), odd, high)
	if got := d.claim(as("ann", "s1"), agency.MessageHalt, agency.MessageNudge); got != "odd" {
		t.Errorf("by type: %q", got)
	}
	if got := d.claim(as("ann", "s2")); got != "odd" {
		t.Errorf("what an earlier session had taken comes first: %q", got)
	}
	var got []string
	for range 6 {
		got = append(got, string(d.claim(as("ann", "s2"))))
	}
	if want := "high role first second low "; strings.Join(got, " ") != want {
		t.Errorf("%q, want %q", got, want)
	}
	for _, m := range d.all() {
		if m.ID == "role" && m.To != "ann" {
			t.Errorf("the role's message names %q as its claimant", m.To)
		}
	}
}

func TestABroadcastHasADeliveryForEachLiveAgent(t *testing.T) {
	d := newDesk(t)
	d.join("ann", "bob", "cid", "gone")
	d.do(func(tx *store.Tx) error { return Leave(tx, run, "gone", AgentCompleted, "") })
	d.send(msg("1", "bob", agency.Everyone))
	if got := d.claim(as("ann", "")); got != "1" {
		t.Fatalf("ann got %q", got)
	}
	d.want("1:pending") // as far as the least advanced
	if d.claim(as("cid", "")) != "1" || d.claim(as("bob", "")) != "" || d.claim(as("gone", "")) != "" {
		t.Error("want a delivery for cid, none for bob who sent it and none for gone")
	}
	d.want("1:delivered")
	d.do(func(tx *store.Tx) error { return MarkRead(tx, as("ann", ""), "1") })
	d.do(func(tx *store.Tx) error { return MarkProcessed(tx, as("ann", ""), "1") })
	d.do(func(tx *store.Tx) error { return Leave(tx, run, "cid", AgentFailed, "") })
	d.want("1:processed 1/cid/failed:pending") // bob is told
	if m := d.all()[0]; m.Sum != "processed by 1 of 2, failed for 1" || m.Reason != "" || m.ProcessedAt.IsZero() {
		t.Errorf("in sum %q, reason %q, processed at %v", m.Sum, m.Reason, m.ProcessedAt)
	}
	var ds []Delivery
	d.do(func(tx *store.Tx) (err error) { ds, err = Deliveries(tx, run, "1"); return err })
	if len(ds) != 2 || ds[0].Agent != "ann" || ds[0].Status != agency.MailProcessed || ds[0].ReadAt.IsZero() || ds[1].Reason != "the recipient has ended: failed" {
		t.Errorf("%+v", ds)
	}
	lone := msg("2", agency.FromSystem, agency.Everyone)
	lone.RunID = "another"
	d.send(lone)
	d.do(func(tx *store.Tx) error {
		m, err := Get(tx, "another", "2")
		if m.Status != agency.MailProcessed {
			t.Errorf("a broadcast to nobody is %s", m.Status)
		}
		return err
	})
}

// What a person says to everyone is there for who joins later, once, and again for whoever
// ended without having read it; what agents say to everyone is not.
func TestLaterJoinersCatchUp(t *testing.T) {
	d := newDesk(t)
	catch := func(id agency.AgentID, want int) {
		t.Helper()
		d.do(func(tx *store.Tx) error {
			n, err := CatchUp(tx, run, id)
			if n != want {
				t.Errorf("%s catches up with %d, want %d", id, n, want)
			}
			return err
		})
	}
	d.join("ann")
	d.send(msg("1", agency.FromHuman, agency.Everyone))
	d.send(msg("2", "ann", agency.Everyone))
	d.send(msg("3", agency.FromHuman, "ann"))
	unheard := func(id agency.AgentID, want int) {
		t.Helper()
		d.do(func(tx *store.Tx) error {
			n, err := Unheard(tx, run, id)
			if n != want {
				t.Errorf("%s has not heard %d messages of people, want %d", id, n, want)
			}
			return err
		})
	}
	unheard("ann", 2)
	unheard("bob", 0)
	catch("ann", 0)
	d.join("bob")
	catch("bob", 1)
	catch("bob", 0)
	if d.claim(as("bob", "")) != "1" || d.claim(as("bob", "")) != "" {
		t.Error("want what the person said to everyone, and nothing else")
	}
	d.do(func(tx *store.Tx) error { return Leave(tx, run, "bob", AgentTerminated, "paused") })
	d.join("bob")
	catch("bob", 1)
	if d.claim(as("bob", "")) != "1" {
		t.Error("what nobody read is a dead letter for good")
	}
	d.do(func(tx *store.Tx) error { return MarkRead(tx, as("bob", ""), "1") })
	catch("bob", 0)
}

func TestEachIllegalStepIsNamed(t *testing.T) {
	d := newDesk(t)
	d.join("ann", "bob")
	read := func(who Recipient, id agency.MessageID) func(*store.Tx) error {
		return func(tx *store.Tx) error { return MarkRead(tx, who, id) }
	}
	processed := func(tx *store.Tx) error { return MarkProcessed(tx, as("ann", "s1"), "1") }
	d.send(msg("1", "bob", "ann"), msg("2", "bob", "ann"))
	d.refuse(agency.KindConflict, read(as("ann", "s1"), "1")) // pending
	d.refuse(agency.KindConflict, processed)
	d.refuse(agency.KindNotFound, read(as("bob", "s1"), "1"))
	d.refuse(agency.KindNotFound, read(as("ann", "s1"), "none"))
	d.claim(as("ann", "s1"))
	d.refuse(agency.KindConflict, processed)
	d.refuse(agency.KindConflict, read(as("ann", "s2"), "1")) // s1 has it
	d.want("1:delivered 2:pending")
	for range 2 {
		d.do(read(as("ann", "s1"), "1"))
	}
	for range 2 {
		d.do(processed)
	}
	d.do(read(as("ann", "s1"), "1"))
	d.want("1:processed 2:pending")
	d.do(func(tx *store.Tx) error { return Leave(tx, run, "ann", AgentFailed, "") })
	d.refuse(agency.KindConflict, read(as("ann", "s1"), "2")) // a dead letter
	d.want("1:processed 2:failed 2/ann/failed:pending")
}

func TestBadMessages(t *testing.T) {
	d := newDesk(t)
	d.join("ann", "bob", "gone")
	d.do(func(tx *store.Tx) error { return Leave(tx, run, "gone", AgentFailed, "") })
	b, err := Open(t.Context(), d.DB, Options{
		MaxQueue: 2,
		MaySend:  func(from, to agency.RoleID) bool { return to != "overseer" },
		Role:     func(r agency.RoleID) bool { return r == "scaffolder" || r == "overseer" },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close() }()
	var blob agency.Hash
	d.do(func(tx *store.Tx) (err error) { blob, err = tx.PutBlob([]byte("{not json")); return err })
	for name, tt := range map[string]struct {
		bad  func(*agency.Message)
		kind agency.Kind
	}{
		"no id":               {func(m *agency.Message) { m.ID = "" }, agency.KindInvalid},
		"absurd id":           {func(m *agency.Message) { m.ID = agency.MessageID(strings.Repeat("x", 200)) }, agency.KindInvalid},
		"id of two lines":     {func(m *agency.Message) { m.ID = "a\nb" }, agency.KindInvalid},
		"no run":              {func(m *agency.Message) { m.RunID = "" }, agency.KindInvalid},
		"no sender":           {func(m *agency.Message) { m.From = "" }, agency.KindInvalid},
		"unknown sender":      {func(m *agency.Message) { m.From = "eve" }, agency.KindNotFound},
		"ended sender":        {func(m *agency.Message) { m.From = "gone" }, agency.KindConflict},
		"no recipient":        {func(m *agency.Message) { m.To = "" }, agency.KindInvalid},
		"two recipients":      {func(m *agency.Message) { m.ToRole = "scaffolder" }, agency.KindInvalid},
		"unknown recipient":   {func(m *agency.Message) { m.To = "eve" }, agency.KindNotFound},
		"ended recipient":     {func(m *agency.Message) { m.To = "gone" }, agency.KindConflict},
		"a person":            {func(m *agency.Message) { m.To = "human" }, agency.KindInvalid},
		"itself":              {func(m *agency.Message) { m.To = "bob" }, agency.KindInvalid},
		"unknown role":        {func(m *agency.Message) { m.To, m.ToRole = "", "king" }, agency.KindNotFound},
		"role out of reach":   {func(m *agency.Message) { m.To, m.ToRole = "", "overseer" }, agency.KindDenied},
		"unknown type":        {func(m *agency.Message) { m.Type = "gossip" }, agency.KindInvalid},
		"no type":             {func(m *agency.Message) { m.Type = "" }, agency.KindInvalid},
		"empty":               {func(m *agency.Message) { m.Body = " \n" }, agency.KindInvalid},
		"too long":            {func(m *agency.Message) { m.Body = strings.Repeat("x", MaxBody+1) }, agency.KindInvalid},
		"not UTF-8":           {func(m *agency.Message) { m.Body = "\xff" }, agency.KindInvalid},
		"absurd subject":      {func(m *agency.Message) { m.Subject = strings.Repeat("x", 1001) }, agency.KindInvalid},
		"payload is no JSON":  {func(m *agency.Message) { m.Payload = json.RawMessage(`{"a":`) }, agency.KindInvalid},
		"payload over 1 MB":   {func(m *agency.Message) { m.Payload = quoted(MaxBody) }, agency.KindInvalid},
		"payload over 16 MB":  {func(m *agency.Message) { m.Payload = quoted(MaxPayload) }, agency.KindInvalid},
		"two payloads":        {func(m *agency.Message) { m.Payload, m.PayloadHash = quoted(1), blob }, agency.KindInvalid},
		"unknown payload":     {func(m *agency.Message) { m.PayloadHash = store.HashOf([]byte("none")) }, agency.KindNotFound},
		"blob that is not":    {func(m *agency.Message) { m.PayloadHash = blob }, agency.KindInvalid},
		"reply to nothing":    {func(m *agency.Message) { m.InReplyTo = "none" }, agency.KindNotFound},
		"absurd priority":     {func(m *agency.Message) { m.Priority = 1 << 40 }, agency.KindInvalid},
		"low priority":        {func(m *agency.Message) { m.Priority = -1001 }, agency.KindInvalid},
		"negative life":       {func(m *agency.Message) { m.TTL = -1 }, agency.KindInvalid},
		"absurd life":         {func(m *agency.Message) { m.TTL = MaxTime + 1 }, agency.KindInvalid},
		"absurd deadline":     {func(m *agency.Message) { m.RequiresResponse, m.RespondWithin = true, 1<<62 }, agency.KindInvalid},
		"deadline of nothing": {func(m *agency.Message) { m.RespondWithin = time.Second }, agency.KindInvalid},
	} {
		m := msg("bad", "bob", "ann")
		tt.bad(&m)
		// The caller goes on after the refusal: what was half written would stay.
		d.do(func(tx *store.Tx) error {
			if err := b.SendTx(tx, m); err == nil || agency.KindOf(err) != tt.kind {
				t.Errorf("%s: %v, want kind %s", name, err, tt.kind)
			}
			return nil
		})
		if got := d.statuses(); got != "" {
			t.Fatalf("%s: something was half written: %s", name, got)
		}
	}
	for _, id := range []string{"1", "2"} {
		if err := b.Send(t.Context(), msg(id, "bob", "ann")); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Send(t.Context(), msg("3", "bob", "ann")); agency.KindOf(err) != agency.KindConflict || !strings.Contains(err.Error(), "full") {
		t.Errorf("a third message into an inbox of two: %v", err)
	}
	if err := b.Send(t.Context(), msg("2", "bob", "ann")); err != nil {
		t.Errorf("one that is there already: %v", err)
	}
	d.claim(as("ann", ""))
	if err := b.Send(t.Context(), msg("3", "bob", "ann")); err != nil {
		t.Errorf("after one was claimed: %v", err)
	}
}

// quoted is a JSON string of n+2 bytes.
func quoted(n int) json.RawMessage { return json.RawMessage(`"` + strings.Repeat("x", n) + `"`) }

func TestPayloads(t *testing.T) {
	d := newDesk(t)
	d.join("ann", "bob")
	var kept agency.Hash
	d.do(func(tx *store.Tx) (err error) { kept, err = tx.PutBlob(quoted(2 << 20)); return err })
	small, large, named := msg("small", "bob", "ann"), msg("large", "bob", "ann"), msg("named", "bob", "ann")
	small.Payload, large.Payload, named.PayloadHash = json.RawMessage(`{"a":1}`), quoted(inline), kept
	d.send(small, large, named, small, large, named)
	ms := d.all()
	if string(ms[0].Payload) != `{"a":1}` || ms[1].Payload != nil || ms[1].PayloadHash != store.HashOf(quoted(inline)) || ms[2].PayloadHash != kept {
		t.Errorf("%.300v", ms)
	}
	d.do(func(tx *store.Tx) error {
		n, err := tx.SweepBlobs()
		if n != 0 {
			t.Errorf("%d payloads of messages were swept", n)
		}
		return err
	})
	d.do(func(tx *store.Tx) error { return Forget(tx, run) })
	d.want("")
}

func TestATimeToLiveCountsTimeAwake(t *testing.T) {
	d := newDesk(t)
	d.join("ann", "bob")
	short, long := msg("short", "bob", "ann"), msg("long", "bob", "ann")
	short.TTL, long.TTL, short.Priority = time.Minute, time.Hour, 9
	d.send(short, long)
	d.wall = d.wall.AddDate(1, 0, 0) // the wall clock does not count
	d.mono += time.Minute - 1
	d.do(func(tx *store.Tx) error {
		n, err := Sweep(tx, 10)
		if n != 0 {
			t.Errorf("%d died before their time", n)
		}
		return err
	})
	d.mono++
	if got := d.claim(as("ann", "s1")); got != "long" {
		t.Errorf("claimed %q", got)
	}
	d.want("short:failed long:delivered short/ann/failed:pending")
	d.mono += time.Hour
	for _, want := range []int{1, 0} {
		d.do(func(tx *store.Tx) error {
			n, err := Sweep(tx, 10)
			if n != want {
				t.Errorf("swept %d, want %d", n, want)
			}
			return err
		})
	}
	// The session that had it must not show it any more.
	d.refuse(agency.KindConflict, func(tx *store.Tx) error { return MarkRead(tx, as("ann", "s1"), "long") })
	var dead []Delivery
	d.do(func(tx *store.Tx) (err error) { dead, err = Deliveries(tx, run, "long"); return err })
	if len(dead) != 1 || dead[0].Status != agency.MailFailed || dead[0].Reason != reasonExpired {
		t.Errorf("%+v", dead)
	}
}

func TestMuchExpiredMailDoesNotHideWhatLives(t *testing.T) {
	d := newDesk(t)
	d.join("ann")
	var old []agency.Message
	for i := range 3 * maxStale {
		m := note(string(rune('a'+i/26))+string(rune('a'+i%26)), "old")
		m.TTL, m.Priority = time.Second, 10
		old = append(old, m)
	}
	d.send(old...)
	d.send(note("alive", "new"))
	d.mono += time.Second
	if got := d.claim(as("ann", "")); got != "alive" {
		t.Errorf("claimed %q", got)
	}
	if got := strings.Count(d.statuses(), "pending"); got < maxStale || got >= 3*maxStale {
		t.Errorf("%d of %d stale messages still wait: one claim buries some, not all", got, 3*maxStale)
	}
}

func TestAnOverdueResponseIsTold(t *testing.T) {
	for name, tt := range map[string]struct {
		answer func(*desk)
		told   bool
	}{
		"none":                 {func(*desk) {}, true},
		"by the recipient":     {func(d *desk) { d.send(reply("r", "ann", "bob", "ask")) }, false},
		"by another":           {func(d *desk) { d.join("cid"); d.send(reply("r", "cid", "bob", "ask")) }, false},
		"the sender's own":     {func(d *desk) { d.send(reply("r", "bob", "ann", "ask")) }, true},
		"the recipient ended":  {func(d *desk) { d.leave("ann") }, true},
		"nobody left to tell":  {func(d *desk) { d.leave("bob") }, false},
		"the run ended before": {func(d *desk) { d.do(func(tx *store.Tx) error { return BuryRun(tx, run, "over") }) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.join("ann", "bob")
			ask := msg("ask", "bob", "ann")
			ask.RequiresResponse, ask.RespondWithin = true, time.Minute
			d.send(ask)
			tt.answer(d)
			d.mono += time.Minute
			for range 2 {
				d.do(func(tx *store.Tx) error { _, err := Sweep(tx, 10); return err })
			}
			told := 0
			for _, m := range d.all() {
				if m.Subject == "no response in time" && m.To == "bob" && m.ThreadRoot == "ask" {
					told++
				}
			}
			if told != map[bool]int{true: 1}[tt.told] {
				t.Errorf("bob was told %d times: %s", told, d.statuses())
			}
		})
	}
}

func (d *desk) leave(id agency.AgentID) {
	d.Helper()
	d.do(func(tx *store.Tx) error { return Leave(tx, run, id, AgentCompleted, "") })
}

func reply(id, from, to, about string) agency.Message {
	m := msg(id, from, to)
	m.InReplyTo = agency.MessageID(about)
	return m
}

func TestDueIsTheNextTime(t *testing.T) {
	d := newDesk(t)
	d.join("ann")
	due := func(want time.Duration, wantOK bool) {
		t.Helper()
		d.do(func(tx *store.Tx) error {
			in, ok, err := Due(tx)
			if ok != wantOK || in != want {
				t.Errorf("due in %s %v, want %s %v", in, ok, want, wantOK)
			}
			return err
		})
	}
	due(0, false)
	m, ask := note("1", "x"), note("2", "x")
	m.TTL, ask.RequiresResponse, ask.RespondWithin = time.Hour, true, time.Minute
	d.send(m, ask)
	due(time.Minute, true)
	d.mono += time.Minute
	due(0, true)
	d.do(func(tx *store.Tx) error { _, err := Sweep(tx, 10); return err })
	due(59*time.Minute, true)
}

// thread is the one in which a message stands.
func (d *desk) thread(id agency.MessageID) (in Thread) {
	d.Helper()
	d.do(func(tx *store.Tx) error {
		all, err := Threads(tx, run)
		for _, th := range all {
			if slices.ContainsFunc(th.Posts, func(p Post) bool { return p.ID == id }) {
				in = th
			}
		}
		return err
	})
	return in
}

func TestAThreadIsOneConversation(t *testing.T) {
	d := newDesk(t)
	d.join("ann", "bob", "cid")
	a, b, c, other := msg("a", "bob", "ann"), reply("b", "ann", "bob", "a"), reply("c", "bob", "cid", "b"), msg("other", "bob", "ann")
	for _, m := range []*agency.Message{&a, &b, &c} {
		m.ContractID = "k"
	}
	d.send(a, other, b, c)
	for _, id := range []agency.MessageID{"a", "b", "c"} {
		th := d.thread(id)
		if ms := th.Posts; th.ID != "a" || len(ms) != 3 || ms[0].ID != "a" || ms[1].ID != "b" || ms[2].ID != "c" || ms[2].ThreadRoot != "a" {
			t.Errorf("the thread of %s: %+v", id, th)
		}
	}
	var all []Thread
	d.do(func(tx *store.Tx) (err error) { all, err = Threads(tx, run); return err })
	if len(all) != 2 || all[0].ID != "a" || len(all[0].Posts) != 3 || all[1].ID != "other" || len(all[1].Posts) != 1 {
		t.Errorf("the threads: %+v", all)
	}
	var ms []agency.Message
	d.do(func(tx *store.Tx) (err error) { ms, err = Conversation(tx, run, "k"); return err })
	if len(ms) != 3 {
		t.Errorf("the conversation: %+v", ms)
	}
}

func TestTheSenderOfADeadLetterIsToldOnce(t *testing.T) {
	d := newDesk(t)
	d.join("ann", "bob", "cid")
	d.send(msg("1", "bob", "ann"), msg("2", "bob", "@scaffolder"), note("3", "of a person"))
	for range 3 {
		d.claim(as("ann", "s1"))
	}
	d.leave("ann")
	// The role's message waits for others; a person has no inbox to be told in.
	d.want("1:failed 2:pending 3:failed 1/ann/failed:pending")
	d.leave("bob") // the notice dies with him, and nobody is told about a notice
	d.want("1:failed 2:pending 3:failed 1/ann/failed:failed")
	if got := d.claim(as("cid", "s1")); got != "2" {
		t.Errorf("cid claimed %q", got)
	}
	var evs []agency.Event
	d.do(func(tx *store.Tx) (err error) {
		evs, err = event.Since(tx, 0, event.Filter{Run: run, MinSeverity: agency.SeverityWarning}, 0)
		return err
	})
	if len(evs) != 3 {
		t.Errorf("%d warnings, want one a dead letter: %+v", len(evs), evs)
	}
}

func TestWhatIsStoredIsRedacted(t *testing.T) {
	d := newDesk(t)
	d.join("ann")
	d.SetRedact(func(b []byte) []byte { return []byte(strings.ReplaceAll(string(b), "hunter2", "[secret]")) })
	d.send(note("1", "the password is hunter2"), note("1", "the password is hunter2"))
	if m := d.all()[0]; strings.Contains(m.Body, "hunter2") {
		t.Error(m.Body)
	}
}
