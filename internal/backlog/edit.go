package backlog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"agency/internal/agency"
)

// Add gives the file with one feature more at its end. The result has no
// faults: it is parsed again.
func (f *File) Add(add agency.Feature, maxSteps int) ([]byte, error) {
	if add.Status == "" {
		add.Status = agency.FeaturePending
	}
	if f.list == nil {
		raw, err := encode(add, "    ", "  ")
		if err != nil {
			return nil, err
		}
		return checked([]byte("{\n  \"features\": [\n    "+raw+"\n  ]\n}\n"), maxSteps)
	}
	indent, sep := "  ", "\n"
	at, before := f.list.start+1, ""
	if n := len(f.list.items); n > 0 {
		last := f.list.items[n-1]
		indent, at, before = f.indentAt(last.start), last.end, ","
		if !f.breaksBefore(last.start) {
			sep = " "
		}
	}
	after := ""
	if before == "" { // an empty list
		after = "\n" + f.indentAt(f.list.start)
		indent = f.indentAt(f.list.start) + "  "
		if end := f.list.end - 1; end > at { // what stands between the brackets is white
			f = &File{data: append(bytes.Clone(f.data[:at]), f.data[end:]...), list: f.list}
		}
	}
	raw, err := encode(add, indent, "  ")
	if err != nil {
		return nil, err
	}
	if sep == " " {
		indent = ""
	}
	return checked(splice(f.data, at, at, before+sep+indent+raw+after), maxSteps)
}

// Done gives the file with a feature that is done, and why. Nothing but its
// status and evidence changes.
func (f *File) Done(id agency.FeatureID, e agency.FeatureEvidence, maxSteps int) ([]byte, error) {
	return f.set(id, agency.FeatureDone, &e, maxSteps)
}

// set gives the file with another status of a feature.
func (f *File) set(id agency.FeatureID, status agency.FeatureStatus, e *agency.FeatureEvidence, maxSteps int) ([]byte, error) {
	for i, have := range f.Features {
		if have.ID != id {
			continue
		}
		n := f.list.items[i]
		data := f.data
		if e != nil {
			raw, err := encode(e, f.memberIndent(n), "  ")
			if err != nil {
				return nil, err
			}
			data = f.member(data, n, "evidence", raw)
		}
		again, err := Parse(data, maxSteps) // the places have moved
		if err != nil {
			return nil, err
		}
		return checked(again.member(data, again.list.items[i], "status", fmt.Sprintf("%q", status)), maxSteps)
	}
	_, err := f.Find(id)
	return nil, err
}

// member sets a member of an object: in its place, or after the last one.
func (f *File) member(data []byte, n *node, key, raw string) []byte {
	if old := n.get(key); old != nil {
		return splice(data, old.start, old.end, raw)
	}
	last := n.members[len(n.members)-1]
	sep := " "
	if f.breaksBefore(last.at) {
		sep = "\n" + f.indentAt(last.at)
	}
	return splice(data, last.value.end, last.value.end, fmt.Sprintf(",%s%q: %s", sep, key, raw))
}

// memberIndent is the white space before the members of an object.
func (f *File) memberIndent(n *node) string {
	last := n.members[len(n.members)-1].at
	if !f.breaksBefore(last) {
		return ""
	}
	return f.indentAt(last)
}

// indentAt is the white space at the start of the line of a place.
func (f *File) indentAt(at int) string {
	line := f.data[bytes.LastIndexByte(f.data[:at], '\n')+1 : at]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// breaksBefore tells whether a place is the first of its line.
func (f *File) breaksBefore(at int) bool {
	line := f.data[bytes.LastIndexByte(f.data[:at], '\n')+1 : at]
	return len(bytes.TrimSpace(line)) == 0 && at > len(line)
}

func splice(data []byte, from, to int, text string) []byte {
	out := append(bytes.Clone(data[:from]), text...)
	return append(out, data[to:]...)
}

func encode(v any, prefix, indent string) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent(prefix, indent)
	err := enc.Encode(v)
	return strings.TrimSuffix(b.String(), "\n"), err
}

// checked is a result that would be read without a fault.
func checked(data []byte, maxSteps int) ([]byte, error) {
	_, err := Parse(data, maxSteps)
	return data, err
}

// Write replaces the backlog of a folder at once: readers see the old file or
// the new one. A link in its place is refused, as in Read.
func Write(root *os.Root, data []byte) error {
	if info, err := root.Lstat(Name); err == nil && !info.Mode().IsRegular() {
		return agency.Errorf(agency.KindInvalid, "%s: is no plain file", Name)
	}
	const temp = ".features.json.new"
	if err := root.Remove(temp); err != nil && !errors.Is(err, os.ErrNotExist) { // of a writer that died
		return fmt.Errorf("%s: %w", Name, agency.Cause(err))
	}
	file, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("%s: %w", Name, agency.Cause(err))
	}
	_, err = file.Write(data)
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		err = root.Rename(temp, Name)
	}
	if err != nil {
		_ = root.Remove(temp) // nothing was replaced
		return fmt.Errorf("%s: %w", Name, agency.Cause(err))
	}
	return nil
}
