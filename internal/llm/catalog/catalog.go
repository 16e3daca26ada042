// Package catalog knows the models of the vendors: capability level, price,
// context window, output limit and whether they see, as of a date. It is data with a look-up;
// the configuration's prices win over it and budget does the sums.
package catalog

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"

	"agency/internal/agency"
	"agency/internal/regexp"
)

// Level is a capability level of the configuration.
type Level string

// The three levels, as in the configuration's models key.
const (
	ReasoningHeavy Level = "reasoning-heavy"
	Capable        Level = "capable"
	FastCheap      Level = "fast-cheap"
)

// Levels lists them from the dearest.
func Levels() []Level { return []Level{ReasoningHeavy, Capable, FastCheap} }

// Model is one entry. Numbers are tokens; zero is unknown.
type Model struct {
	ID        string       `json:"id"`
	Level     Level        `json:"level"`
	Default   bool         `json:"default,omitempty"` // what the level means for this provider type
	Context   int64        `json:"context"`
	MaxOutput int64        `json:"max_output"`
	Thinking  Thinking     `json:"thinking,omitempty"`
	Sees      bool         `json:"sees,omitempty"` // it takes pictures
	Price     agency.Price `json:"price"`
	// LongPrice holds for requests whose prompt is longer than LongAbove; 0:
	// there is one price.
	LongAbove int64        `json:"long_above,omitempty"`
	LongPrice agency.Price `json:"long_price,omitzero"`
	// Fictive prices are made up, for the rehearsal player.
	Fictive bool `json:"fictive,omitempty"`
	// Note says what the numbers do not.
	Note string `json:"note,omitempty"`
}

// Thinking is how a model is told to think; empty: it is not told, and thinks as its vendor
// has it.
type Thinking string

// The ways: up to a number of tokens that the request names, or as far as the model itself
// sees fit, where naming a number is refused.
const (
	ThinksByBudget Thinking = "budget"
	ThinksFreely   Thinking = "adaptive"
)

// Pricing is the model's price with that of long prompts.
func (m Model) Pricing() agency.Price {
	p := m.Price
	if m.LongAbove > 0 {
		p.Long = &agency.LongPrice{Above: m.LongAbove, In: m.LongPrice.In, CachedIn: m.LongPrice.CachedIn, Out: m.LongPrice.Out}
	}
	return p
}

// Catalog is the embedded list.
type Catalog struct {
	AsOf      string             `json:"as_of"` // date of the prices, YYYY-MM-DD
	Providers map[string][]Model `json:"providers"`
}

//go:embed models.json
var models []byte

// Load reads the embedded list; an error is a bug of the build.
func Load() (*Catalog, error) {
	dec := json.NewDecoder(bytes.NewReader(models))
	dec.DisallowUnknownFields()
	var c Catalog
	if err := dec.Decode(&c); err != nil {
		return nil, fmt.Errorf("embedded model catalog: %w", err)
	}
	return &c, nil
}

// rehearsalType is the provider type whose every model is the player.
const rehearsalType = "rehearsal"

var dated = regexp.MustCompile(`[-@](\d{8}|\d{4}-\d{2}-\d{2}|latest)$`)

// Lookup finds a model by the provider's type (anthropic, openai, gemini,
// rehearsal) and the vendor's name of the model, also where that carries a
// date that the list does not have. A model that is not found counts tokens
// only and shows as unpriced.
func (c *Catalog) Lookup(providerType, model string) (Model, bool) {
	if providerType == rehearsalType && len(c.Providers[rehearsalType]) > 0 {
		m := c.Providers[rehearsalType][0]
		m.ID = model
		return m, true
	}
	for _, name := range []string{model, dated.ReplaceAllString(model, "")} {
		for _, m := range c.Providers[providerType] {
			if m.ID == name {
				return m, true
			}
		}
	}
	return Model{}, false
}

// Defaults gives the default model of each level for a provider type, for a
// configuration without a models key; nil for an unknown type.
func (c *Catalog) Defaults(providerType string) map[Level]string {
	if c.Providers[providerType] == nil {
		return nil
	}
	out := map[Level]string{}
	for _, m := range c.Providers[providerType] {
		switch {
		case !m.Default:
		case providerType == rehearsalType:
			for _, l := range Levels() {
				out[l] = m.ID
			}
		default:
			out[m.Level] = m.ID
		}
	}
	return out
}
