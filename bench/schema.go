package main

import (
	"embed"

	"agency/internal/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// messageTable is the same table for the contender without the store.
const messageTable = "CREATE TABLE message (id INTEGER PRIMARY KEY, sender INTEGER NOT NULL, body TEXT NOT NULL)"

// ownSet is the bench's own schema in the store.
func ownSet() store.Set { return store.Set{Name: "bench", FS: migrations} }
