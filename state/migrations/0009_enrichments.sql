-- The assets of a destination as they were listed last, to find those that lack a description.
-- Each listing has a number, by which it is known what the next one did not meet any more.
CREATE TABLE surveyed (
  destination   TEXT NOT NULL,
  asset         TEXT NOT NULL CHECK (asset <> ''),
  survey        INTEGER NOT NULL,
  category      TEXT NOT NULL,
  category_name TEXT NOT NULL,
  private       INTEGER NOT NULL CHECK (private IN (0, 1)),
  folder        TEXT NOT NULL,
  folder_id     TEXT NOT NULL,
  name          TEXT NOT NULL,
  extension     TEXT NOT NULL,
  size          INTEGER NOT NULL,
  width         INTEGER NOT NULL,
  height        INTEGER NOT NULL,
  blur          TEXT NOT NULL,
  description   TEXT NOT NULL,
  tags          TEXT NOT NULL CHECK (json_type(tags) = 'array'),
  attributes    TEXT NOT NULL CHECK (json_type(attributes) = 'object'),
  modified      INTEGER NOT NULL,
  url           TEXT NOT NULL,
  image         TEXT NOT NULL,
  findings      TEXT NOT NULL,
  language      TEXT NOT NULL,
  PRIMARY KEY (destination, asset)
) STRICT, WITHOUT ROWID;

CREATE TABLE surveys (
  destination TEXT PRIMARY KEY,
  survey      INTEGER NOT NULL,
  at          INTEGER NOT NULL,
  whole       INTEGER NOT NULL CHECK (whole IN (0, 1))
) STRICT, WITHOUT ROWID;

-- What a person said needs no description.
CREATE TABLE decorative (
  destination TEXT NOT NULL,
  asset       TEXT NOT NULL CHECK (asset <> ''),
  since       INTEGER NOT NULL,
  PRIMARY KEY (destination, asset)
) STRICT, WITHOUT ROWID;

CREATE TABLE enrichment_runs (
  num         INTEGER PRIMARY KEY,
  id          TEXT NOT NULL UNIQUE,
  destination TEXT NOT NULL,
  command     TEXT NOT NULL,
  service     TEXT NOT NULL,
  model       TEXT NOT NULL,
  undoes      INTEGER REFERENCES enrichment_runs (num),
  started_at  INTEGER NOT NULL,
  finished_at INTEGER,
  calls       INTEGER NOT NULL DEFAULT 0,
  credits     REAL,
  bytes       INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE INDEX enrichment_runs_destination ON enrichment_runs (destination, num);

-- What is proposed for an asset, and what became of it.
CREATE TABLE enrichments (
  num           INTEGER PRIMARY KEY,
  destination   TEXT NOT NULL,
  asset         TEXT NOT NULL CHECK (asset <> ''),
  kind          TEXT NOT NULL CHECK (kind IN ('describe', 'review', 'translate')),
  language      TEXT NOT NULL,
  state         TEXT NOT NULL CHECK (state IN ('planned', 'asking', 'proposed', 'accepted', 'rejected', 'applying', 'applied', 'undone', 'failed', 'refused', 'conflict')),
  run           INTEGER NOT NULL REFERENCES enrichment_runs (num),
  size          INTEGER NOT NULL,
  width         INTEGER NOT NULL,
  height        INTEGER NOT NULL,
  blur          TEXT NOT NULL,
  description   TEXT NOT NULL,
  tags          TEXT NOT NULL CHECK (json_type(tags) = 'array'),
  attribute     TEXT NOT NULL,
  value         TEXT NOT NULL,
  text          TEXT,
  proposed_tags TEXT CHECK (json_type(proposed_tags) = 'array'),
  decorative    INTEGER NOT NULL DEFAULT 0 CHECK (decorative IN (0, 1)),
  edited        INTEGER NOT NULL DEFAULT 0 CHECK (edited IN (0, 1)),
  note          TEXT NOT NULL DEFAULT '',
  model         TEXT NOT NULL DEFAULT '',
  calls         INTEGER NOT NULL DEFAULT 0,
  bytes         INTEGER NOT NULL DEFAULT 0,
  attempts      INTEGER NOT NULL DEFAULT 0,
  class         TEXT NOT NULL DEFAULT '',
  error         TEXT NOT NULL DEFAULT '',
  flagged       TEXT NOT NULL DEFAULT '',
  updated_at    INTEGER NOT NULL,
  UNIQUE (destination, asset, kind, language),
  CHECK (state IN ('planned', 'asking', 'failed', 'refused') OR text IS NOT NULL AND proposed_tags IS NOT NULL),
  CHECK (state <> 'asking' OR attempts > 0),
  CHECK (state <> 'failed' OR class <> '' AND error <> ''),
  CHECK ((state = 'refused') = (flagged <> ''))
) STRICT;

CREATE INDEX enrichments_state ON enrichments (destination, state, num);

-- Conversations that may be at the AI content service: one is noted before it is made, and
-- forgotten when it is gone. One that is spent is only there to be deleted.
CREATE TABLE conversations (
  service    TEXT NOT NULL,
  id         TEXT NOT NULL CHECK (id <> ''),
  enrichment INTEGER NOT NULL REFERENCES enrichments (num),
  spent      INTEGER NOT NULL DEFAULT 0 CHECK (spent IN (0, 1)),
  at         INTEGER NOT NULL,
  PRIMARY KEY (service, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX conversations_enrichment ON conversations (enrichment);

-- What runs wrote into assets: what they had before and after, as far as it was changed.
CREATE TABLE enrichment_changes (
  run        INTEGER NOT NULL REFERENCES enrichment_runs (num),
  enrichment INTEGER NOT NULL REFERENCES enrichments (num),
  asset      TEXT NOT NULL,
  state      TEXT NOT NULL CHECK (state IN ('applying', 'applied', 'undoing', 'undone', 'conflict', 'failed')),
  before     TEXT NOT NULL CHECK (json_type(before) = 'object'),
  after      TEXT NOT NULL CHECK (json_type(after) = 'object'),
  undone_by  INTEGER REFERENCES enrichment_runs (num),
  error      TEXT NOT NULL DEFAULT '',
  at         INTEGER NOT NULL,
  PRIMARY KEY (run, enrichment),
  CHECK (state <> 'undoing' AND state <> 'undone' OR undone_by IS NOT NULL)
) STRICT, WITHOUT ROWID;

CREATE INDEX enrichment_changes_open ON enrichment_changes (run, enrichment) WHERE state IN ('applying', 'undoing');
