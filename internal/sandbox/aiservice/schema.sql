CREATE TABLE conversations (
  seq         INTEGER PRIMARY KEY AUTOINCREMENT,
  environment TEXT NOT NULL,
  user        TEXT NOT NULL,
  id          TEXT NOT NULL,
  title       TEXT NOT NULL,
  "group"     TEXT NOT NULL,
  model       TEXT NOT NULL DEFAULT '',
  pinned      INTEGER NOT NULL DEFAULT 0 CHECK (pinned IN (0, 1)),
  created     INTEGER NOT NULL, -- times are milliseconds
  updated     INTEGER NOT NULL,
  UNIQUE (environment, user, id)
) STRICT;

CREATE TABLE messages (
  seq          INTEGER PRIMARY KEY AUTOINCREMENT,
  conversation INTEGER NOT NULL REFERENCES conversations (seq) ON DELETE CASCADE,
  said         TEXT NOT NULL, -- what the history holds of it
  body         TEXT NOT NULL  -- JSON, as it is shown
) STRICT;
CREATE INDEX messages_of ON messages (conversation);

CREATE TABLE attachments (
  seq          INTEGER PRIMARY KEY AUTOINCREMENT,
  conversation INTEGER NOT NULL REFERENCES conversations (seq) ON DELETE CASCADE,
  kind         TEXT NOT NULL CHECK (kind IN ('document', 'file', 'web-resource')),
  id           TEXT NOT NULL,
  name         TEXT NOT NULL,
  type         TEXT NOT NULL,
  url          TEXT NOT NULL,
  pages        INTEGER NOT NULL,
  details      TEXT NOT NULL, -- JSON, what the client wants back
  data         BLOB NOT NULL,
  UNIQUE (conversation, kind, id)
) STRICT;

-- What was billed.
CREATE TABLE calls (
  seq         INTEGER PRIMARY KEY AUTOINCREMENT,
  environment TEXT NOT NULL,
  user        TEXT NOT NULL,
  at          INTEGER NOT NULL,
  route       TEXT NOT NULL,
  model       TEXT NOT NULL,
  tokens      INTEGER NOT NULL,
  credits     INTEGER NOT NULL -- thousandths
) STRICT;
CREATE INDEX calls_of ON calls (environment, at);

CREATE TABLE contexts (
  seq          INTEGER PRIMARY KEY AUTOINCREMENT,
  environment  TEXT NOT NULL,
  id           TEXT NOT NULL UNIQUE,
  name         TEXT NOT NULL,
  description  TEXT NOT NULL,
  instructions TEXT NOT NULL,
  auto_apply   TEXT NOT NULL, -- JSON
  created      INTEGER NOT NULL
) STRICT;

CREATE TABLE context_files (
  seq     INTEGER PRIMARY KEY AUTOINCREMENT,
  context INTEGER NOT NULL REFERENCES contexts (seq) ON DELETE CASCADE,
  id      TEXT NOT NULL UNIQUE,
  name    TEXT NOT NULL,
  type    TEXT NOT NULL,
  data    BLOB NOT NULL
) STRICT;

CREATE TABLE prompts (
  seq     INTEGER PRIMARY KEY AUTOINCREMENT,
  context INTEGER NOT NULL REFERENCES contexts (seq) ON DELETE CASCADE,
  id      TEXT NOT NULL UNIQUE,
  name    TEXT NOT NULL,
  prompt  TEXT NOT NULL
) STRICT;

CREATE TABLE libraries (
  seq         INTEGER PRIMARY KEY AUTOINCREMENT,
  environment TEXT NOT NULL,
  id          TEXT NOT NULL UNIQUE,
  name        TEXT NOT NULL,
  contexts    TEXT NOT NULL -- JSON
) STRICT;
