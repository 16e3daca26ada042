package store

import "golang.org/x/sys/unix"

// networkMagic are the file systems whose locks or shared memory a database
// cannot rely on (statfs(2), linux/magic.h). FUSE is refused whole: sshfs and
// its like cannot be told from the harmless ones by this number.
var networkMagic = map[int64]string{
	0x6969:     "nfs",
	0x517b:     "smb",
	0xff534d42: "cifs",
	0xfe534d42: "smb2",
	0x01021997: "9p",
	0x65735546: "fuse",
	0x00c36400: "ceph",
	0x5346414f: "afs",
	0x73757245: "coda",
	0x564c:     "ncp",
	0x0bd00bd0: "lustre",
	0x47504653: "gpfs",
	0x01161970: "gfs2",
	0x7461636f: "ocfs2",
}

// fsType names a folder's file system where it is a network's.
func fsType(dir string) (name string, network bool, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return "", false, err
	}
	name, network = networkMagic[int64(uint32(st.Type))]
	return name, network, nil
}

// Room is how many bytes this user may still write to the disk of a folder; 0
// where it has no file left to give.
func Room(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, err
	}
	if st.Files > 0 && st.Ffree == 0 {
		return 0, nil
	}
	return int64(st.Bavail) * int64(st.Bsize), nil //nolint:unconvert // the types differ by platform
}
