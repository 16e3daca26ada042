package check

import (
	"bufio"
	"bytes"
	"os"
	"runtime"
	"strconv"

	"agency/internal/sandbox"
)

// MachineLimits are the sizes of a check (DESIGN 15): three quarters of the
// machine's memory, processes by its processors, and of the output as much as
// findings are read from; parsers read all of it.
func MachineLimits() sandbox.Limits {
	return sandbox.Limits{
		MemoryMB: max(memoryMB()*3/4, 2048), Processes: 256 + 64*runtime.NumCPU(),
		OpenFiles: 16384, FileSizeMB: 8192, OutputKB: 2048,
	}
}

func orMachine(l sandbox.Limits) sandbox.Limits {
	m := MachineLimits()
	fill := func(v *int, def int) {
		if *v <= 0 {
			*v = def
		}
	}
	fill(&l.MemoryMB, m.MemoryMB)
	fill(&l.Processes, m.Processes)
	fill(&l.OpenFiles, m.OpenFiles)
	fill(&l.FileSizeMB, m.FileSizeMB)
	fill(&l.OutputKB, m.OutputKB)
	return l
}

// memoryMB is the machine's memory; 0 where it cannot be read.
func memoryMB() int {
	b, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	lines := bufio.NewScanner(bytes.NewReader(b))
	for lines.Scan() {
		f := bytes.Fields(lines.Bytes())
		if len(f) >= 2 && string(f[0]) == "MemTotal:" {
			kb, err := strconv.Atoi(string(f[1]))
			if err != nil {
				return 0
			}
			return kb / 1024
		}
	}
	return 0
}
