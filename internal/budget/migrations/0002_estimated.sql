-- +goose Up
-- Whether the provider gave no counts and bytes were counted instead.
ALTER TABLE budget_requests ADD COLUMN estimated INTEGER NOT NULL DEFAULT 0;
