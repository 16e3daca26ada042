-- +goose Up
-- What on the board an event is about; empty and 0: nothing.
ALTER TABLE event ADD COLUMN message_id TEXT NOT NULL DEFAULT '';
ALTER TABLE event ADD COLUMN state_id INTEGER NOT NULL DEFAULT 0;
