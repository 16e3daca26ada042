package supervisor

import (
	"agency/internal/linux/escape"
	"agency/internal/linux/landlock"
)

// Gap is something that the tier in force does not keep from a command: in words,
// and by the names of the attempts that get through because of it. An attempt
// that gets through and stands in no gap is a hole (Attempts).
type Gap struct {
	Text   string
	Leaves []string
}

// landlockGaps are what the landlock tier leaves open on any kernel.
func landlockGaps() []Gap {
	return []Gap{
		{
			"modes, owners and times of your files outside can be changed, where your user may",
			[]string{"change the mode of a file outside", "change the times of a file outside", "change the owner of a file outside"},
		},
		{
			"names, sizes and command lines of files and processes outside can be seen, when they are used, and what /proc tells your user of the kernel and the network",
			[]string{"see the host's processes", "see that a file outside is there", "read the kernel's tables"},
		},
		{
			"a pipe or a device in a folder that is shown can be read, where your user may",
			[]string{"read from a pipe in a folder that is shown", escape.TrapDeviceRead},
		},
		{
			"all that the kernel has of file watches, room in pipes and files sent through sockets for your user can be held while a command runs, and locks on files that are shown",
			[]string{"hold the user's file watches"},
		},
		{Text: ".git below a checkout can be written; the host never reads it"},
		{Text: "temporary files are on the machine's disk and bounded by counting; memory in sockets that are on their way in other sockets is not counted"},
		{Text: "programs cannot set priority, processors or limits of a process by its number, nor attributes of files, and have no System V objects, " +
			"POSIX semaphores and shared memory (/dev/shm), message queues, pairs of datagram sockets and pseudo-terminals; /tmp itself is not theirs, TMPDIR is"},
		{Text: "caches begin with a part of yours, and dependency folders are copied into each checkout"},
	}
}

// Gaps are those of a tier, by the kernel's age; bound says that the kernel refuses
// overlays, loopback that internet sockets are open.
func Gaps(landlocked, loopback, bound bool) []Gap {
	switch {
	case !landlocked && bound:
		return []Gap{{Text: "the kernel refuses overlays: sockets that have a path are refused, also a command's own, for those of the host would answer in the folders " +
			"that are shown, and a pipe that is made there while a command runs can be read"}}
	case !landlocked:
		return nil
	}
	gaps := landlockGaps()
	switch {
	case loopback:
		gaps = append(gaps, Gap{
			"the network is open: every service on this machine's loopback, and the internet (sandbox.loopback: allow)",
			[]string{
				"reach the network", "send a datagram out", "reach the network by IPv6", "reach the network while sending",
			},
		})
	case landlock.KnowsPorts():
		gaps = append(gaps, Gap{Text: "a command that may reach hosts (sandbox.allow_hosts, setup_hosts) can connect to the port of its proxy, another each time, " +
			"on every machine, and other programs of this one can use that proxy"})
	default:
		gaps = append(gaps, Gap{Text: "sandbox.allow_hosts and setup_hosts have no effect: this kernel's Landlock cannot hold a command to the port of a proxy (Linux before 6.7)"})
	}
	return append(gaps, gapsOfAge(landlock.InForce())...)
}

// gapsOfAge are those that a newer kernel closes.
func gapsOfAge(abi int) (gaps []Gap) {
	if abi < landlock.ScopeABI {
		gaps = append(
			gaps,
			Gap{"your other processes can be sent signals (Linux before 6.12)", []string{"end the supervisor", "send a signal to all that is the user's"}},
			Gap{Text: "a process that a command leaves ends with the next look, not at once, and where its keeper is killed with the start of the next host (Linux before 6.12)"},
		)
	}
	if abi < landlock.TruncateABI {
		gaps = append(gaps, Gap{"your files outside can be cut short, where your user may write (Linux before 6.2)", []string{"cut a file outside short"}})
	}
	return gaps
}
