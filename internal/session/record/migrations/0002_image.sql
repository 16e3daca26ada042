-- The pictures that messages of a session show; a message names them by their hashes.
CREATE TABLE session_image (
    session_id TEXT NOT NULL,
    blob       TEXT NOT NULL,
    PRIMARY KEY (session_id, blob)
);
