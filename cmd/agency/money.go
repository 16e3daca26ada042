package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/spf13/pflag"

	"agency/internal/agency"
)

// usd is a flag of US dollars. Whether so many are allowed is decided where they count.
type usd float64

func (u *usd) String() string { return strconv.FormatFloat(float64(*u), 'f', -1, 64) }

// Type is what the flag is of, for its help.
func (u *usd) Type() string { return "USD" }

func (u *usd) Set(s string) error {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return errors.New(wantUSD)
	}
	*u = usd(v)
	return nil
}

// wantUSD is what a flag of dollars is to be.
var wantUSD = fmt.Sprintf("want a number of US dollars, more than 0 and at most %d, such as --budget 5 or --budget 5.00", agency.MostUSD)

// positive refuses what can be no limit.
func (u *usd) positive(flag string) error {
	if *u > 0 && *u <= agency.MostUSD {
		return nil
	}
	return usage("--%s %s: %s", flag, u, wantUSD)
}

// flagFault says in words what a flag wants, where the error is that of a parser of
// numbers.
func flagFault(err error) error {
	var bad *pflag.InvalidValueError
	var number *strconv.NumError
	if !errors.As(err, &bad) || !errors.As(err, &number) {
		return err
	}
	want := "a number"
	if bad.GetFlag().Value.Type() == "int" {
		want = "a whole number"
	}
	if errors.Is(number, strconv.ErrRange) {
		want += " that is not so large"
	}
	return fmt.Errorf("--%s %q: want %s", bad.GetFlag().Name, bad.GetValue(), want)
}
