package llm

import (
	"strconv"
	"strings"
)

// Amount is a number of tokens as a provider tells it: a whole number that may
// also come as a fraction or in quotes. It is never negative, for nobody is
// paid to ask, and never above mostAmount, so that sums stay numbers.
type Amount int64

// mostAmount is above what any answer takes; more is a server's mistake, and
// still far above every budget.
const mostAmount Amount = 1 << 40

// UnmarshalJSON never fails; what is no number is 0.
func (n *Amount) UnmarshalJSON(data []byte) error {
	*n = 0
	switch f, err := strconv.ParseFloat(strings.Trim(string(data), `"`), 64); {
	case f >= float64(mostAmount): // also where the number is out of range
		*n = mostAmount
	case err == nil && f > 0:
		*n = Amount(f)
	}
	return nil
}
