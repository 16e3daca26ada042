-- +goose Up
-- Whether a pause is that of a host which hands its runs over.
ALTER TABLE controls ADD COLUMN hand_over INTEGER NOT NULL DEFAULT 0;
