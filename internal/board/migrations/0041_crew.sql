-- +goose Up
-- The version of the agents is not asked for any more: who remembers them hears
-- of each change from who makes it, and from the store of those that others make.
DROP TRIGGER board_agent_comes;
DROP TRIGGER board_agent_changes;
DROP TRIGGER board_agent_goes;
DROP TABLE board_crew;
