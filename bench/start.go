package main

import (
	"context"
	"errors"
)

func startRow() row {
	return row{figures: []string{"start/version", "start/ps"}, measure: measureStart}
}

func measureStart(context.Context, *bench) ([]figure, error) { return nil, errors.New("later") }
