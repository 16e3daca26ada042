package config

// Source is the text of one file. A nil Data means that there is no file.
type Source struct {
	Path string // as shown in faults
	Data []byte
}

// Env looks an environment variable up, as os.LookupEnv does.
type Env func(name string) (value string, ok bool)

// Flag is a setting made on the command line: a dotted key and its value as
// YAML, for instance {"budget.usd", "5", "--budget"}.
type Flag struct {
	Key   string
	Value string
	Name  string // how the user wrote it, for faults and `config show`
}

// Input is all that a configuration is made from.
type Input struct {
	UserFile Source // the user's own file
	RepoFile Source // agency.yaml of the repository
	// AgentFiles are the repository's own agent files by slash path, where
	// this version loads them; each needs trust.
	AgentFiles map[string][]byte
	Flags      []Flag
	Env        Env
	// Catalogue is provider -> capability level -> model names in order of
	// fallback, used for the first provider whose key is set when no file
	// has a models key. It comes from llm/catalog.
	Catalogue map[string]map[string][]string
	// Home is the user's home folder and Repo the repository's root, both
	// for sandbox.read; State is the state folder, which may not be read.
	Home, Repo, State string
}

// Layer says where a value came from.
type Layer string

// The layers, weakest first.
const (
	LayerDefault     Layer = "default"
	LayerCatalogue   Layer = "catalogue" // models of the first provider whose key is set
	LayerUser        Layer = "user"
	LayerRepo        Layer = "repository"
	LayerFlag        Layer = "flag"
	LayerEnvironment Layer = "environment"
)

// Origin is where one key's value came from. Line and Col are 1-based, 0
// where there is no file.
type Origin struct {
	Layer Layer
	File  string // path, or the flag's name
	Line  int
	Col   int
}

// Warning is something that is no fault but that a person should see.
type Warning struct {
	Key    string
	Text   string
	Origin Origin
}

// Loaded is a configuration with where each value came from.
type Loaded struct {
	Config   Config
	Warnings []Warning
	// Widenings are the settings of the repository's file that reach
	// further than the user's own; they need trust (RELIABILITY 3).
	Widenings []Widening

	trusted bool
}
