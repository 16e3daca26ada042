package store

import (
	"errors"
	"sync"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// SQLite writes a frame of its log in two calls of the operating system, one
// for its head of 24 bytes, one for its page: some hundred for what many
// senders commit at once. The file system of this file is the system's own but
// for the log, whose writes it gathers where each begins at the end of the one
// before. They reach the file with the sync that makes the commit durable, or
// before anything else is done with it; a commit without a sync does not exist
// under synchronous=FULL. An error of theirs is the sync's, and so the commit's.

// logVFS is its name.
const logVFS = "agency-log"

// maxGathered bounds what is gathered, in bytes: the system's method takes no
// more at once.
const maxGathered = 1<<17 - 1

// The methods of a file, as SQLite declares them: https://sqlite.org/c3ref/io_methods.html.
type (
	fileClose func(tls *libc.TLS, file uintptr) int32
	fileMove  func(tls *libc.TLS, file, buf uintptr, n int32, at int64) int32 // read and write
	fileCut   func(tls *libc.TLS, file uintptr, size int64) int32
	fileSync  func(tls *libc.TLS, file uintptr, flags int32) int32
	fileLong  func(tls *libc.TLS, file, size uintptr) int32
	vfsOpen   func(tls *libc.TLS, vfs, name, file uintptr, flags int32, got uintptr) int32
)

// logs are the open logs of this process, by SQLite's handle of the file.
var logs sync.Map // uintptr to *gatherer

// gatherer is an open log. Its connection's goroutine uses it. What SQLite gets
// to see is not in Go's memory.
type gatherer struct {
	system  *sqlite3.Tsqlite3_io_methods
	methods uintptr // those of the log
	buf     uintptr // of maxGathered bytes
	n       int     // of them are not written yet
	at      int64   // where they belong
}

// systemVFS is SQLite's own file system, 0 where there is none.
var systemVFS = sync.OnceValue(func() uintptr {
	tls := libc.NewTLS()
	defer tls.Close()
	return sqlite3.Xsqlite3_vfs_find(tls, 0)
})

// useLogVFS makes the log's file system known to SQLite, once a process.
var useLogVFS = sync.OnceValue(func() error {
	system := systemVFS()
	if system == 0 {
		return errors.New("SQLite has no file system")
	}
	name, err := libc.CString(logVFS)
	if err != nil {
		return err
	}
	tls := libc.NewTLS()
	defer tls.Close()
	own := libc.Xmalloc(tls, libc.Tsize_t(unsafe.Sizeof(sqlite3.Tsqlite3_vfs{})))
	if own == 0 {
		return errors.New("no memory for the log's file system")
	}
	v := object[sqlite3.Tsqlite3_vfs](own)
	*v = *object[sqlite3.Tsqlite3_vfs](system)
	v.FpNext, v.FzName, v.FxOpen = 0, name, pointer(vfsOpen(openFile))
	if rc := sqlite3.Xsqlite3_vfs_register(tls, own, 0); rc != sqlite3.SQLITE_OK {
		return errors.New("SQLite refuses the log's file system")
	}
	return nil
})

func openFile(tls *libc.TLS, _, name, file uintptr, flags int32, got uintptr) int32 {
	system := systemVFS()
	rc := method[vfsOpen](object[sqlite3.Tsqlite3_vfs](system).FxOpen)(tls, system, name, file, flags, got)
	if rc == sqlite3.SQLITE_OK && flags&sqlite3.SQLITE_OPEN_WAL != 0 {
		gather(tls, file)
	}
	return rc
}

// gather has the writes of a file gathered that was just opened.
func gather(tls *libc.TLS, file uintptr) {
	f := object[sqlite3.Tsqlite3_file](file)
	g := &gatherer{
		system:  object[sqlite3.Tsqlite3_io_methods](f.FpMethods),
		methods: libc.Xmalloc(tls, libc.Tsize_t(unsafe.Sizeof(sqlite3.Tsqlite3_io_methods{}))),
		buf:     libc.Xmalloc(tls, maxGathered),
	}
	if g.methods == 0 || g.buf == 0 {
		g.free(tls)
		return // it works without
	}
	m := object[sqlite3.Tsqlite3_io_methods](g.methods)
	*m = *g.system
	m.FxClose = pointer(fileClose(closeLog))
	m.FxRead = pointer(fileMove(readLog))
	m.FxWrite = pointer(fileMove(writeLog))
	m.FxTruncate = pointer(fileCut(cutLog))
	m.FxSync = pointer(fileSync(syncLog))
	m.FxFileSize = pointer(fileLong(sizeOfLog))
	logs.Store(file, g)
	f.FpMethods = g.methods
}

func (g *gatherer) free(tls *libc.TLS) {
	libc.Xfree(tls, g.methods) // 0 is nothing
	libc.Xfree(tls, g.buf)
}

func logOf(file uintptr) *gatherer {
	g, _ := logs.Load(file)
	return g.(*gatherer) //nolint:errcheck // gather is the only one that stores
}

// flush writes what was gathered.
func (g *gatherer) flush(tls *libc.TLS, file uintptr) int32 {
	if g.n == 0 {
		return sqlite3.SQLITE_OK
	}
	n := g.n
	g.n = 0
	return method[fileMove](g.system.FxWrite)(tls, file, g.buf, int32(n), g.at)
}

func writeLog(tls *libc.TLS, file, buf uintptr, n int32, offset int64) int32 {
	g := logOf(file)
	if offset != g.at+int64(g.n) || g.n+int(n) > maxGathered {
		if rc := g.flush(tls, file); rc != sqlite3.SQLITE_OK {
			return rc
		}
	}
	if n > maxGathered {
		return method[fileMove](g.system.FxWrite)(tls, file, buf, n, offset)
	}
	if g.n == 0 {
		g.at = offset
	}
	libc.Xmemcpy(tls, g.buf+uintptr(g.n), buf, libc.Tsize_t(n))
	g.n += int(n)
	return sqlite3.SQLITE_OK
}

func readLog(tls *libc.TLS, file, buf uintptr, n int32, offset int64) int32 {
	g := logOf(file)
	if rc := g.flush(tls, file); rc != sqlite3.SQLITE_OK {
		return rc
	}
	return method[fileMove](g.system.FxRead)(tls, file, buf, n, offset)
}

func syncLog(tls *libc.TLS, file uintptr, flags int32) int32 {
	g := logOf(file)
	if rc := g.flush(tls, file); rc != sqlite3.SQLITE_OK {
		return rc
	}
	return method[fileSync](g.system.FxSync)(tls, file, flags)
}

func cutLog(tls *libc.TLS, file uintptr, size int64) int32 {
	g := logOf(file)
	if rc := g.flush(tls, file); rc != sqlite3.SQLITE_OK {
		return rc
	}
	return method[fileCut](g.system.FxTruncate)(tls, file, size)
}

func sizeOfLog(tls *libc.TLS, file, size uintptr) int32 {
	g := logOf(file)
	if rc := g.flush(tls, file); rc != sqlite3.SQLITE_OK {
		return rc
	}
	return method[fileLong](g.system.FxFileSize)(tls, file, size)
}

// closeLog writes what is left, which no commit names: as SQLite would have.
func closeLog(tls *libc.TLS, file uintptr) int32 {
	g := logOf(file)
	rc := g.flush(tls, file)
	logs.Delete(file)
	object[sqlite3.Tsqlite3_file](file).FpMethods = uintptr(unsafe.Pointer(g.system))
	g.free(tls)
	return max(rc, method[fileClose](g.system.FxClose)(tls, file))
}

// object is what stands at an address of SQLite's memory, which Go's collector
// neither moves nor frees.
func object[T any](address uintptr) *T { return *(**T)(unsafe.Pointer(&address)) }

// method is the function behind a pointer of SQLite's; pointer is its inverse,
// for functions that the program declares: nothing keeps a closure alive there.
func method[F any](address uintptr) F { return *(*F)(unsafe.Pointer(&address)) }

func pointer[F any](f F) uintptr { return *(*uintptr)(unsafe.Pointer(&f)) }
