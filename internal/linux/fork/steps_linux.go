// Package fork starts a process, and from it a second one, that do what was written
// down before and then execute a program.
//
// A process that is forked from a program with threads, and does not execute
// another, may do nothing but system calls: the locks of the other threads stay
// as they were, for ever. So what it has to do is written down before the fork,
// as a list of system calls with all that they point to, and the fork itself
// only goes through the list. Which calls those are is the caller's affair.
package fork

import (
	"encoding/binary"
	"unsafe"
)

// step is one system call of a script.
type step struct {
	call uintptr
	args [6]uintptr
	// may is the error that does no harm, or AnyError.
	may uintptr
}

// AnyError is the error of a step that may fail in whatever way.
const AnyError = ^uintptr(0)

// Script is all that a command's first process and the command itself do until
// the command's program runs. Its memory does not move: it is reached by
// address from the list.
type Script struct {
	// parts are done in this order: Shared by the first process of the namespace,
	// before it forks the command; then Guard by itself, Command by the command,
	// which at last tries each of programs.
	parts      [3][]step
	Programs   []uintptr
	Argv, Envp uintptr
	Flags      uintptr // of the fork
	// Parent is the process that forks where the first one gets no namespace of
	// processes, else 0; scoped says that the first process is then held to its own
	// by Landlock and so ends them itself, wakes is the set of the signals that it
	// waits for.
	Parent uintptr
	Scoped bool
	Wakes  uintptr
	names  [3][]string // of the steps, for messages
	record *Record     // what is written to FdStatus
	held   []any       // what the addresses point to
}

// Record is what the processes of a script tell who has forked them.
type Record struct {
	What  int32
	Which int32 // the step of failed ones, in the order shared, guard, command
	Value int32 // an errno, or a wait status
}

// RecordSize is that of a record, in bytes.
const RecordSize = int(unsafe.Sizeof(Record{}))

// What a record tells.
const (
	tellFailed = 1 + iota // a step
	NotStarted            // the program cannot be executed
	Ended                 // the command, with a wait status
)

// ReadRecord is a record as it was written.
func ReadRecord(b []byte) Record {
	return Record{
		What:  int32(binary.NativeEndian.Uint32(b)),
		Which: int32(binary.NativeEndian.Uint32(b[4:])),
		Value: int32(binary.NativeEndian.Uint32(b[8:])),
	}
}

// Name is what a failed step did.
func (s *Script) Name(i int) string {
	for _, names := range s.names {
		if i < len(names) {
			return names[i]
		}
		i -= len(names)
	}
	return "?"
}

// Parts of a script, by who goes through them.
const (
	Shared = iota
	Guard
	Command
)

// Add writes down one more step of a part: what it does in words, the error that
// does no harm, and the call.
func (s *Script) Add(part int, name string, may uintptr, call uintptr, args ...uintptr) {
	st := step{call: call, may: may}
	copy(st.args[:], args)
	s.parts[part] = append(s.parts[part], st)
	s.names[part] = append(s.names[part], name)
}

// Text is the address of a string that ends with a null byte.
func (s *Script) Text(v string) uintptr {
	b := make([]byte, len(v)+1)
	copy(b, v)
	return s.Bytes(b)
}

// Bytes is the address of memory that lives as long as the script.
func (s *Script) Bytes(b []byte) uintptr {
	s.held = append(s.held, b) // and so it is on the heap, which does not move
	return uintptr(unsafe.Pointer(unsafe.SliceData(b)))
}

// Texts is the address of a list of addresses of strings that ends with null.
func (s *Script) Texts(vs []string) uintptr {
	list := make([]byte, 0, (len(vs)+1)*int(unsafe.Sizeof(uintptr(0))))
	for _, v := range vs {
		list = binary.NativeEndian.AppendUint64(list, uint64(s.Text(v)))
	}
	return s.Bytes(binary.NativeEndian.AppendUint64(list, 0))
}

// SignalSet is the size of the kernel's set of signals.
const SignalSet = 8

// New makes an empty one.
func New() *Script { return &Script{record: &Record{}} }

// FdStatus is the file of the first process that its record is written to.
const FdStatus = 3
