-- +goose Up
-- Whether the provider gave no counts and bytes were counted instead.
ALTER TABLE session_turn ADD COLUMN estimated INTEGER NOT NULL DEFAULT 0;
