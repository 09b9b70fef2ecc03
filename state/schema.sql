CREATE TABLE aliases (
  pair        INTEGER NOT NULL REFERENCES pairs (id),
  key         TEXT NOT NULL,
  size        INTEGER NOT NULL,
  time        INTEGER NOT NULL,
  version_tag TEXT NOT NULL,
  owner       TEXT NOT NULL,
  run         INTEGER NOT NULL REFERENCES runs (num), digest BLOB NOT NULL DEFAULT x'', content_type TEXT,
  PRIMARY KEY (pair, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE attempts (
  run     INTEGER NOT NULL REFERENCES runs (num),
  key     TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  at      INTEGER NOT NULL,
  class   TEXT NOT NULL,
  error   TEXT NOT NULL
) STRICT;

CREATE TABLE bases (
  id           INTEGER PRIMARY KEY,
  category     TEXT NOT NULL,
  url_before   TEXT NOT NULL,
  url_after    TEXT NOT NULL,
  content_type TEXT NOT NULL,
  UNIQUE (category, url_before, url_after, content_type)
) STRICT;

CREATE TABLE calls (
  destination TEXT NOT NULL,
  minute      INTEGER NOT NULL,
  n           INTEGER NOT NULL,
  PRIMARY KEY (destination, minute)
) STRICT, WITHOUT ROWID;

CREATE TABLE categories (
  destination TEXT NOT NULL,
  id          TEXT NOT NULL,
  name        TEXT NOT NULL,
  private     INTEGER NOT NULL CHECK (private IN (0, 1)),
  PRIMARY KEY (destination, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE choices (
  destination TEXT NOT NULL,
  extension   TEXT NOT NULL,
  category    TEXT NOT NULL,
  PRIMARY KEY (destination, extension)
) STRICT, WITHOUT ROWID;

CREATE TABLE content_checks (
  pair   INTEGER NOT NULL REFERENCES pairs (id),
  asset  TEXT NOT NULL,
  at     INTEGER NOT NULL,
  intact INTEGER NOT NULL CHECK (intact IN (0, 1)),
  PRIMARY KEY (pair, asset)
) STRICT, WITHOUT ROWID;

CREATE TABLE contents (
  run    INTEGER NOT NULL REFERENCES runs (num),
  key    TEXT NOT NULL,
  size   INTEGER NOT NULL,
  digest BLOB,
  PRIMARY KEY (run, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE conversations (
  service    TEXT NOT NULL,
  id         TEXT NOT NULL CHECK (id <> ''),
  enrichment INTEGER NOT NULL REFERENCES enrichments (num),
  spent      INTEGER NOT NULL DEFAULT 0 CHECK (spent IN (0, 1)),
  at         INTEGER NOT NULL,
  PRIMARY KEY (service, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE decorative (
  destination TEXT NOT NULL,
  asset       TEXT NOT NULL CHECK (asset <> ''),
  since       INTEGER NOT NULL,
  PRIMARY KEY (destination, asset)
) STRICT, WITHOUT ROWID;

CREATE TABLE described (
  pair     INTEGER NOT NULL,
  key      TEXT NOT NULL,
  metadata TEXT NOT NULL CHECK (json_type(metadata) = 'object'), found TEXT NOT NULL DEFAULT '{}' CHECK (json_type(found) = 'object'),
  PRIMARY KEY (pair, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE descriptions (
  pair         INTEGER NOT NULL,
  key          TEXT NOT NULL,
  content_type TEXT NOT NULL,
  metadata     TEXT NOT NULL CHECK (json_type(metadata) = 'object'),
  tags         TEXT NOT NULL CHECK (json_type(tags) = 'object'),
  PRIMARY KEY (pair, key),
  FOREIGN KEY (pair, key) REFERENCES receipts (pair, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE differences (
  verification INTEGER NOT NULL REFERENCES verifications (id),
  key          TEXT NOT NULL,
  asset        TEXT NOT NULL,
  field        TEXT NOT NULL,
  what         TEXT NOT NULL,
  PRIMARY KEY (verification, key, field)
) STRICT, WITHOUT ROWID;

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
, contexts TEXT NOT NULL DEFAULT '[]' CHECK (json_type(contexts) = 'array')) STRICT;

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

CREATE TABLE failures (
  pair        INTEGER NOT NULL REFERENCES pairs (id),
  key         TEXT NOT NULL,
  size        INTEGER NOT NULL,
  time        INTEGER NOT NULL,
  version_tag TEXT NOT NULL,
  runs        INTEGER NOT NULL,
  last_run    INTEGER NOT NULL REFERENCES runs (num),
  unclear     INTEGER NOT NULL,             -- whether it may have arrived all the same
  error       TEXT NOT NULL, since INTEGER,
  PRIMARY KEY (pair, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE fields (
  run      INTEGER NOT NULL REFERENCES runs (num),
  origin   TEXT NOT NULL,
  field    TEXT NOT NULL,
  objects  INTEGER NOT NULL,
  unmapped INTEGER NOT NULL,
  PRIMARY KEY (run, origin, field)
) STRICT, WITHOUT ROWID;

CREATE TABLE folders (
  destination TEXT NOT NULL,
  category    TEXT NOT NULL,
  path        TEXT NOT NULL,
  id          TEXT NOT NULL,
  PRIMARY KEY (destination, category, path)
) STRICT, WITHOUT ROWID;

CREATE TABLE former (
  run     INTEGER NOT NULL REFERENCES runs (num),
  key     TEXT NOT NULL,
  receipt TEXT NOT NULL CHECK (json_type(receipt) = 'object'),
  asset   TEXT NOT NULL CHECK (json_type(asset) = 'object'),
  PRIMARY KEY (run, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE former_keys (
  pair  INTEGER NOT NULL REFERENCES pairs (id),
  key   TEXT NOT NULL,
  owner TEXT NOT NULL,
  PRIMARY KEY (pair, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE given_addresses (
  pair       INTEGER NOT NULL REFERENCES pairs (id),
  key        TEXT NOT NULL,
  address    TEXT NOT NULL,
  comparable TEXT NOT NULL,
  PRIMARY KEY (pair, key, address)
) STRICT, WITHOUT ROWID;

CREATE TABLE intents (
  destination TEXT NOT NULL,
  category    TEXT NOT NULL,
  path        TEXT NOT NULL,
  at          INTEGER NOT NULL,
  PRIMARY KEY (destination, category, path)
) STRICT, WITHOUT ROWID;

CREATE TABLE inventory (
  scope     INTEGER NOT NULL,
  asset     TEXT NOT NULL,
  slot      INTEGER NOT NULL,
  category  TEXT NOT NULL,
  folder    TEXT NOT NULL,
  name      TEXT NOT NULL,
  extension TEXT NOT NULL,
  size      INTEGER NOT NULL,
  status    TEXT NOT NULL,
  url       TEXT NOT NULL,
  mark      TEXT NOT NULL,
  PRIMARY KEY (scope, asset)
) STRICT, WITHOUT ROWID;

CREATE TABLE "items" (
  run         INTEGER NOT NULL REFERENCES runs (num),
  key         TEXT NOT NULL,
  size        INTEGER NOT NULL,
  time        INTEGER NOT NULL,
  version_tag TEXT NOT NULL,
  obstacle    TEXT NOT NULL,
  action      TEXT CHECK (action = 'create' OR action = 'adopt' OR action = 'replace' OR action = 'describe' OR action = 'move'
    OR action = 'trash' OR action = 'unchanged' OR action = 'skip' OR action = 'conflict'),
  reason      TEXT NOT NULL DEFAULT '',
  state       TEXT NOT NULL DEFAULT 'staged' CHECK (state = 'planned' OR state = 'sending' OR state = 'done' OR state = 'staged'
    OR state = 'sent' OR state = 'waiting' OR state = 'failed' OR state = 'parked' OR state = 'changed' OR state = 'skipped'
    OR state = 'conflict' OR state = 'in_doubt'),
  category    TEXT NOT NULL DEFAULT '',
  folder      TEXT NOT NULL DEFAULT '',
  name        TEXT NOT NULL DEFAULT '',
  slot        INTEGER NOT NULL DEFAULT 0,
  attempts    INTEGER NOT NULL DEFAULT 0,
  intent_at   INTEGER,
  due_at      INTEGER,
  digest      BLOB,
  asset       TEXT NOT NULL DEFAULT '',
  class       TEXT NOT NULL DEFAULT '',
  error       TEXT NOT NULL DEFAULT '',
  base        INTEGER REFERENCES bases (id), origin TEXT NOT NULL DEFAULT '', content_type TEXT,
  PRIMARY KEY (run, key),
  CHECK ((state = 'staged') = (action IS NULL)),
  CHECK (state <> 'skipped' OR action = 'skip' OR action = 'unchanged'),
  CHECK (state <> 'conflict' OR action = 'conflict'),
  CHECK (state <> 'sending' AND state <> 'in_doubt'
    OR action <> 'skip' AND action <> 'unchanged' AND action <> 'conflict' AND intent_at IS NOT NULL),
  CHECK ((state = 'waiting') = (due_at IS NOT NULL)),
  CHECK (state <> 'sent' AND state <> 'done' OR asset <> '')
) STRICT, WITHOUT ROWID;

CREATE TABLE namesakes (
  pair  INTEGER NOT NULL REFERENCES pairs (id),
  asset TEXT NOT NULL,
  PRIMARY KEY (pair, asset)
) STRICT, WITHOUT ROWID;

CREATE TABLE orphans (
  pair  INTEGER NOT NULL REFERENCES pairs (id),
  key   TEXT NOT NULL,
  since INTEGER NOT NULL,
  runs  INTEGER NOT NULL,
  PRIMARY KEY (pair, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE ours (
  pair     INTEGER NOT NULL REFERENCES pairs (id),
  category TEXT NOT NULL,
  path     TEXT NOT NULL,
  PRIMARY KEY (pair, category, path)
) STRICT, WITHOUT ROWID;

CREATE TABLE owner (
  id      INTEGER PRIMARY KEY CHECK (id = 1),
  journal TEXT NOT NULL,
  seq     INTEGER NOT NULL,
  epoch   TEXT NOT NULL,
  pid     INTEGER NOT NULL,
  host    TEXT NOT NULL,
  since   INTEGER NOT NULL
) STRICT;

CREATE TABLE pairs (
  id          INTEGER PRIMARY KEY,
  source      TEXT NOT NULL,
  destination TEXT NOT NULL,
  address     TEXT NOT NULL, rehearsal INTEGER CHECK (rehearsal IN (0, 1)), objects INTEGER NOT NULL DEFAULT 0, bytes INTEGER NOT NULL DEFAULT 0, drift_cursor TEXT NOT NULL DEFAULT '',
  UNIQUE (source, destination)
) STRICT;

CREATE TABLE receipts (
  pair        INTEGER NOT NULL REFERENCES pairs (id),
  key         TEXT NOT NULL,
  size        INTEGER NOT NULL,
  time        INTEGER NOT NULL,
  version_tag TEXT NOT NULL,
  digest      BLOB NOT NULL CHECK (length(digest) = 32),
  asset       TEXT NOT NULL CHECK (asset <> ''),
  name        TEXT NOT NULL,
  extension   TEXT NOT NULL,
  category    TEXT NOT NULL,
  folder      TEXT NOT NULL,
  url         TEXT NOT NULL,
  slot        INTEGER NOT NULL,
  adopted     INTEGER NOT NULL CHECK (adopted IN (0, 1)),
  undescribed INTEGER NOT NULL CHECK (undescribed IN (0, 1)),
  run         INTEGER NOT NULL REFERENCES runs (num),
  done_at     INTEGER NOT NULL, modified INTEGER, images TEXT CHECK (json_type(images) = 'array'), base INTEGER REFERENCES bases (id), content_type TEXT, content_run INTEGER REFERENCES runs (num), content_at INTEGER,
  PRIMARY KEY (pair, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE runs (
  num         INTEGER PRIMARY KEY,
  id          TEXT NOT NULL UNIQUE,
  pair        INTEGER NOT NULL REFERENCES pairs (id),
  command     TEXT NOT NULL,
  state       TEXT NOT NULL CHECK (state IN ('scanning', 'planning', 'planned', 'applying', 'finished', 'superseded')),
  rules       TEXT NOT NULL,
  cursor      TEXT NOT NULL DEFAULT '',
  scanned     INTEGER NOT NULL DEFAULT 0 CHECK (scanned IN (0, 1)),
  unchanged   INTEGER NOT NULL DEFAULT 0,
  unchanged_bytes INTEGER NOT NULL DEFAULT 0,
  categories  TEXT NOT NULL DEFAULT '[]',
  plan_hash   TEXT NOT NULL DEFAULT '',
  stale       INTEGER NOT NULL DEFAULT 0 CHECK (stale IN (0, 1)),
  started_at  INTEGER NOT NULL,
  listed_at   INTEGER NOT NULL,
  finished_at INTEGER, approved_by TEXT NOT NULL DEFAULT '', approved_at INTEGER, undoes INTEGER REFERENCES runs (num), tallied INTEGER NOT NULL DEFAULT 0 CHECK (tallied IN (0, 1)), stopped TEXT NOT NULL DEFAULT '', drift_cursor TEXT NOT NULL DEFAULT '', pruned_at INTEGER, started_by TEXT NOT NULL DEFAULT '', approval_stated_by TEXT NOT NULL DEFAULT '', approval_key TEXT NOT NULL DEFAULT '',
  CHECK ((state IN ('finished', 'superseded')) = (finished_at IS NOT NULL))
) STRICT;

CREATE TABLE sidecars (
  pair        INTEGER NOT NULL REFERENCES pairs (id),
  key         TEXT NOT NULL,
  size        INTEGER NOT NULL,
  time        INTEGER NOT NULL,
  version_tag TEXT NOT NULL,
  pending     INTEGER NOT NULL,
  folded      TEXT NOT NULL,
  PRIMARY KEY (pair, key)
) STRICT, WITHOUT ROWID;

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

CREATE TABLE tallies (
  run     INTEGER NOT NULL REFERENCES runs (num),
  action  TEXT NOT NULL,
  reason  TEXT NOT NULL,
  state   TEXT NOT NULL CHECK (state NOT IN ('sending', 'sent', 'in_doubt', 'waiting')),
  objects INTEGER NOT NULL,
  bytes   INTEGER NOT NULL,
  PRIMARY KEY (run, action, reason, state)
) STRICT, WITHOUT ROWID;

CREATE TABLE throughput (
  run    INTEGER NOT NULL REFERENCES runs (num),
  minute INTEGER NOT NULL,
  items  INTEGER NOT NULL,
  bytes  INTEGER NOT NULL,
  first  INTEGER NOT NULL,
  last   INTEGER NOT NULL,
  PRIMARY KEY (run, minute)
) STRICT, WITHOUT ROWID;

CREATE TABLE verifications (
  id          INTEGER PRIMARY KEY,
  pair        INTEGER NOT NULL REFERENCES pairs (id),
  at          INTEGER NOT NULL,
  level       TEXT NOT NULL CHECK (level IN ('listing', 'sample', 'content')),
  receipts    INTEGER NOT NULL,
  contents    INTEGER NOT NULL,
  differences INTEGER NOT NULL
) STRICT;

CREATE INDEX aliases_owner ON aliases (pair, owner);

CREATE INDEX attempts_item ON attempts (run, key);

CREATE INDEX conversations_enrichment ON conversations (enrichment);

CREATE INDEX differences_asset ON differences (verification, asset);

CREATE INDEX enrichment_changes_open ON enrichment_changes (run, enrichment) WHERE state IN ('applying', 'undoing');

CREATE INDEX enrichment_runs_destination ON enrichment_runs (destination, num);

CREATE INDEX enrichments_state ON enrichments (destination, state, num);

CREATE INDEX former_keys_owner ON former_keys (pair, owner);

CREATE INDEX given_addresses_comparable ON given_addresses (pair, comparable);

CREATE INDEX inventory_slot ON inventory (scope, slot);

CREATE INDEX items_open ON items (run, state, key)
  WHERE state = 'sending' OR state = 'sent' OR state = 'in_doubt' OR state = 'waiting';

CREATE UNIQUE INDEX receipts_asset ON receipts (pair, asset);

CREATE INDEX receipts_names ON receipts (pair, key) WHERE base IS NULL
  AND substr('/' || key, -length('/' || name || CASE extension WHEN '' THEN '' ELSE '.' || extension END))
    <> '/' || name || CASE extension WHEN '' THEN '' ELSE '.' || extension END;

CREATE INDEX runs_pair ON runs (pair, num);

CREATE INDEX sidecars_folded ON sidecars (pair, folded);

CREATE INDEX sidecars_pending ON sidecars (pair, key) WHERE pending <> 0;
