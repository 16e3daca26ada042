// Package catalog knows the models of the vendors: capability level, price,
// context window and output limit, as of a date. It is data with a look-up;
// the configuration's prices win over it and budget does the sums.
package catalog

import (
	"agency/internal/agency"
)

// Level is a capability level of the configuration.
type Level string

// The three levels, as in the configuration's models key.
const (
	ReasoningHeavy Level = "reasoning-heavy"
	Capable        Level = "capable"
	FastCheap      Level = "fast-cheap"
)

// Model is one entry. Numbers are tokens; zero is unknown.
type Model struct {
	ID        string       `json:"id"`
	Level     Level        `json:"level"`
	Default   bool         `json:"default,omitempty"` // what the level means for this provider type
	Context   int64        `json:"context"`
	MaxOutput int64        `json:"max_output"`
	Price     agency.Price `json:"price"`
	// Fictive prices are made up, for the rehearsal player.
	Fictive bool `json:"fictive,omitempty"`
	// Note names what the price does not say, such as a surcharge on long
	// prompts.
	Note string `json:"note,omitempty"`
}

// Catalog is the embedded list.
type Catalog struct {
	AsOf      string             `json:"as_of"` // date of the prices, YYYY-MM-DD
	Providers map[string][]Model `json:"providers"`
}

// Load reads the embedded list; an error is a bug of the build.
func Load() (*Catalog, error) { return nil, nil }

// Lookup finds a model by the provider's type (anthropic, openai, gemini,
// rehearsal) and the vendor's name of the model, also where that carries a
// dated suffix. A model that is not found counts tokens only.
func (c *Catalog) Lookup(providerType, model string) (Model, bool) { return Model{}, false }

// Defaults gives the default model of each level for a provider type, for a
// configuration without a models key; nil for an unknown type.
func (c *Catalog) Defaults(providerType string) map[Level]string { return nil }
