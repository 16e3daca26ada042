package app

import (
	"cmp"
	"fmt"

	tea "charm.land/bubbletea/v2"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/ui/tui"
)

const helpText = `Keys

  everywhere
    up down, j k     move; pgup pgdown a page, < > (home end) to the ends
    ?                this help; esc leaves it
    esc              back
    q, ctrl-c        leave; runs go on without you
    ctrl-z           to the shell, fg comes back

  list of runs
    enter            open a run, or the gate at which one waits
    n                start a run: type what should be different, and before it
                     --mode tiered or --budget 5 where they are to differ

  run
    tab              from the contracts to the log and back
    enter            show what is proved of a contract, and all its sessions;
                     in the log: the chosen line whole, ] [ the next and the one before
    o                only contracts that are not complete
    v                every event in the log, or only what matters
    g                the gate that waits
    d                the change so far, file by file; ] [ go on to the next
    t                the conversation of the chosen session, as it goes
    s or :           say something to whoever leads, or builds; @AGENT to one
    p                pause at the end of the turn; u resumes
    c                cancel, asks first

  gate
    a                approve, asks once
    r                reject, with a reason
    d                the change alone
    ] [              next file of the change, and the one before
    tab              the next gate that waits

What is chosen is marked. A gate that waits stands in the list and above a run:
the most urgent first, which is what may do harm or has stopped the whole run.
`

// press takes a key in.
func (m *Model) press(k tea.KeyPressMsg) tea.Cmd {
	key := k.String()
	switch {
	case key == "ctrl+c":
		return tea.Quit
	case key == "ctrl+z":
		return tea.Suspend
	case m.ask.active():
		return answerKey(m, k)
	case key == "q":
		return tea.Quit
	case key == "?":
		if m.view != viewHelp {
			m.under, m.view, m.help.top = m.view, viewHelp, 0
			m.lay()
		}
		return nil
	}
	switch m.view {
	case viewList:
		return listKey(m, key)
	case viewRun:
		return runKey(m, key)
	case viewGate:
		return gateKey(m, key)
	case viewChange:
		return changeKey(m, key)
	case viewTranscript:
		if key == "esc" || key == "backspace" {
			m.view = viewRun
			m.run.transcript = transcript{}
		} else if !steerKey(m, key) {
			m.run.transcript.pager.key(key)
			if key == "end" || key == ">" {
				m.run.transcript.pager.follows = true
			}
		}
	case viewEvent:
		eventKey(m, key)
	case viewHelp:
		if key == "esc" || key == "backspace" {
			m.view = m.under
		} else {
			m.help.key(key)
		}
	}
	return nil
}

func listKey(m *Model, key string) tea.Cmd {
	switch key {
	case "enter":
		id, gate := m.list.chosen()
		if id == "" {
			return nil
		}
		m.enter(id)
		cmd := m.follow()
		if gate != "" {
			m.run.gate = gate
			return tea.Batch(cmd, showGate(m))
		}
		return cmd
	case "n":
		askLine(m, "what should be different; before it --mode M or --budget USD", "say what should be different", action{kind: actStart})
	default:
		m.list.press(key, m.height-4)
	}
	return nil
}

func runKey(m *Model, key string) tea.Cmd {
	switch key {
	case "esc", "backspace":
		m.run, m.view, m.list.known = runView{}, viewList, false
		return m.follow()
	case "tab", "shift+tab":
		m.run.logged = !m.run.logged
		return nil
	case "v":
		m.run.log.verbose = !m.run.log.verbose
		return nil
	case "g":
		return showGate(m)
	case "d":
		return showChange(m)
	case "o":
		m.run.tree.press(key, m.run.doc, treeRows(m))
		return nil
	case "t":
		s, ok := m.run.tree.session(m.run.doc)
		if !ok {
			m.say(tui.Yellow, "no session has begun yet")
			return nil
		}
		m.run.transcript.show(s, max(leastWidth, m.width))
		m.view = viewTranscript
		return m.refresh()
	}
	if steerKey(m, key) {
		return nil
	}
	switch {
	case m.run.logged && key == "enter":
		openEvent(m)
		return nil
	case m.run.logged:
		m.run.log.key(key, logRows(m))
		return nil
	}
	m.run.tree.press(key, m.run.doc, treeRows(m))
	return nil
}

// openEvent shows the chosen line of the log whole.
func openEvent(m *Model) {
	if m.run.log.open(m.o.Style, max(leastWidth, m.width)) {
		m.view = viewEvent
	}
}

func eventKey(m *Model, key string) {
	switch key {
	case "esc", "backspace", "enter":
		m.view, m.run.log.opened = viewRun, nil
	case "]", "right":
		m.run.log.key("down", 1)
		openEvent(m)
	case "[", "left":
		m.run.log.key("up", 1)
		openEvent(m)
	default:
		if !steerKey(m, key) {
			m.run.log.whole.key(key)
		}
	}
}

// hearer is who reads what is said to nobody by name.
func hearer(d api.InspectDoc) string {
	if cmp.Or(d.MovedTo, d.Mode) == agency.ModeTiered {
		return "whoever is at work"
	}
	return "whoever leads"
}

// steerKey takes keys in that steer the run, and tells whether it is one of them.
func steerKey(m *Model, key string) bool {
	change := func(c Change) action { return action{kind: actChange, run: m.run.id, change: c} }
	switch key {
	case "s", ":":
		askLine(m, "say to "+hearer(m.run.doc)+" (@AGENT text: to another)", "say something", action{kind: actSay, run: m.run.id})
	case "p":
		m.ask = ask{yes: "pause the run as its agents end their turns?", act: change(Pause)}
	case "u":
		m.ask = ask{yes: "let the run go on?", act: change(Resume)}
	case "c":
		m.ask = ask{yes: fmt.Sprintf("cancel the run %s? It ends; its branch and record stay.", tui.ShortRun(m.run.id)), act: change(Cancel)}
	default:
		return false
	}
	if m.run.state().Final() {
		m.ask = ask{}
		m.say(tui.Yellow, "the run "+m.run.state().Has()+" already")
	}
	return true
}

// showGate shows the gate that waits.
func showGate(m *Model) tea.Cmd {
	if m.run.known {
		if _, ok := m.run.shownGate(); !ok {
			m.say(tui.Yellow, "no gate waits")
			return nil
		}
	}
	if g, ok := m.run.shownGate(); ok {
		if open := m.run.waits(); m.run.decision(g).Verb != "" && len(open) > 0 {
			g = open[0]
		}
		if m.run.gate != g.ID {
			m.run.gate, m.run.page.top = g.ID, 0
		}
	}
	m.view = viewGate
	return readChange(m)
}

// showChange shows what the run would land, from the view that esc leads back to.
func showChange(m *Model) tea.Cmd {
	m.run.diff.back, m.view, m.run.page.top = m.view, viewChange, 0
	return readChange(m)
}

// readChange has the change read anew.
func readChange(m *Model) tea.Cmd {
	m.run.diff = diff{asked: true, back: m.run.diff.back}
	m.lay()
	return m.work.diff(m.run.id)
}

func changeKey(m *Model, key string) tea.Cmd {
	switch key {
	case "esc", "backspace", "d":
		m.view, m.run.page.top = m.run.diff.back, 0
		m.lay()
	default:
		pageKey(m, key)
	}
	return nil
}

func gateKey(m *Model, key string) tea.Cmd {
	switch key {
	case "esc", "backspace", "g":
		m.view = viewRun
	case "a":
		askGate(m, agency.Approve)
	case "r":
		askGate(m, agency.Reject)
	case "tab":
		m.run.nextGate()
		m.lay()
	case "t":
		return runKey(m, key)
	case "d":
		return showChange(m)
	default:
		pageKey(m, key)
	}
	return nil
}

// pageKey takes a key in that moves what is read, or steers the run.
func pageKey(m *Model, key string) {
	switch {
	case (key == "]" || key == "[" || key == "right" || key == "left") && len(m.run.page.marks) == 0:
		m.say(tui.Dim, cmp.Or(m.run.unshown(), "the change has no file"))
	case !steerKey(m, key):
		m.run.page.key(key)
	}
}
