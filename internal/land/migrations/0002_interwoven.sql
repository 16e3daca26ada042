-- +goose Up
-- JSON: how the landing went together with others (agency.Interwoven).
ALTER TABLE land_intent ADD COLUMN interwoven TEXT NOT NULL DEFAULT '';
