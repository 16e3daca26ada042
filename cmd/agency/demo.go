package main

import (
	"github.com/spf13/cobra"

	"agency/internal/agency"
)

func (a *app) demoCommand() *cobra.Command {
	return &cobra.Command{Use: "demo", RunE: func(*cobra.Command, []string) error { return agency.Errorf(agency.KindInternal, "later") }}
}

func (a *app) doctorCommand() *cobra.Command {
	return &cobra.Command{Use: "doctor", RunE: func(*cobra.Command, []string) error { return agency.Errorf(agency.KindInternal, "later") }}
}
