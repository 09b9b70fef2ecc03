-- The schema of the state database. Until the first release it is edited in place; then changes are
-- numbered migrations. Times are UTC milliseconds, but those of objects are nanoseconds.

-- The state database itself, and the process that owns it. epoch is empty if no process does.
-- Every write names the epoch and adds one to seq. log_entries and log_head are the end of the action
-- log: see action_log.
CREATE TABLE owner (
  id      INTEGER PRIMARY KEY CHECK (id = 1),
  state_id TEXT NOT NULL,
  seq     INTEGER NOT NULL,
  epoch   TEXT NOT NULL,
  pid     INTEGER NOT NULL,
  host    TEXT NOT NULL,
  since   INTEGER NOT NULL,
  log_entries INTEGER NOT NULL DEFAULT 0,
  log_head TEXT NOT NULL DEFAULT ''
) STRICT;

-- The action log: each entry as JSON, which contains the checksum of the previous one; see package
-- actionlog. Entries are never changed or deleted, and contain no keys of objects.
CREATE TABLE action_log (
  num      INTEGER PRIMARY KEY,
  entry    TEXT NOT NULL CHECK (json_type(entry) = 'object'),
  checksum TEXT NOT NULL CHECK (length(checksum) = 64)
) STRICT;

CREATE TRIGGER action_log_follows BEFORE INSERT ON action_log
  WHEN NEW.num IS NOT (SELECT log_entries + 1 FROM owner) BEGIN
    SELECT RAISE(ABORT, 'an entry of the action log does not follow the last one');
  END;

CREATE TRIGGER action_log_adds AFTER INSERT ON action_log BEGIN
  UPDATE owner SET log_entries = NEW.num, log_head = NEW.checksum;
END;

CREATE TRIGGER action_log_stays BEFORE UPDATE ON action_log BEGIN
  SELECT RAISE(ABORT, 'entries of the action log cannot be changed');
END;

CREATE TRIGGER action_log_keeps BEFORE DELETE ON action_log BEGIN
  SELECT RAISE(ABORT, 'entries of the action log cannot be deleted');
END;

-- A source and its destination. sandbox: whether the destination is a sandbox; NULL: unknown. objects and bytes sum up the receipts, so that none has to be read for that.
-- drift_cursor: how far the last scheduled run compared the receipts with the destination.
-- scans: whether a scan has to accept what is uploaded.
-- forgotten: salted checksums of the keys of erased objects; see package erasure.
CREATE TABLE pairs (
  id          INTEGER PRIMARY KEY,
  source      TEXT NOT NULL,
  destination TEXT NOT NULL,
  url         TEXT NOT NULL,
  sandbox     INTEGER CHECK (sandbox IN (0, 1)),
  objects     INTEGER NOT NULL DEFAULT 0,
  bytes       INTEGER NOT NULL DEFAULT 0,
  drift_cursor TEXT NOT NULL DEFAULT '',
  scans       INTEGER NOT NULL DEFAULT 0 CHECK (scans IN (0, 1)),
  forgotten   BLOB NOT NULL DEFAULT x'',
  UNIQUE (source, destination)
) STRICT;

-- stopped: why a safety check kept the run, or a part of it, from being applied.
-- drift_cursor: how far its plan compared receipts with the destination.
-- tallied: whether the table tallies counts its items, which it does once the plan is finished.
-- undoes: the run that this one undoes. pruned_at: when its items were deleted as too old.
-- started_by: the account that started it. approved_by: who approved its plan, and
-- approval_key the fingerprint of the key that signed this, or else approval_stated_by the
-- account that stated the name.
-- wave: the part of the source that the run covers; empty: all of it.
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
  finished_at INTEGER,
  approved_by TEXT NOT NULL DEFAULT '',
  approved_at INTEGER,
  undoes      INTEGER REFERENCES runs (num),
  tallied     INTEGER NOT NULL DEFAULT 0 CHECK (tallied IN (0, 1)),
  stopped     TEXT NOT NULL DEFAULT '',
  drift_cursor TEXT NOT NULL DEFAULT '',
  pruned_at   INTEGER,
  started_by  TEXT NOT NULL DEFAULT '',
  approval_stated_by TEXT NOT NULL DEFAULT '',
  approval_key TEXT NOT NULL DEFAULT '',
  wave        TEXT NOT NULL DEFAULT '',
  CHECK ((state IN ('finished', 'superseded')) = (finished_at IS NOT NULL))
) STRICT;

CREATE INDEX runs_pair ON runs (pair, num);

-- The listing of a run and what becomes of each object; transitions.go lists its transitions.
-- previous_key: the key under which an object that is moved had arrived, or that of the object whose
-- asset an adopted one shares. content_type: as the source says, NULL if it does not.
-- The checks of action and state avoid IN: SQLite makes a table of each such list for each row
-- that it checks, and that took almost half of what it takes to store an item. The values of new
-- objects and of sidecars come first.
CREATE TABLE items (
  run         INTEGER NOT NULL REFERENCES runs (num),
  key         TEXT NOT NULL,
  size        INTEGER NOT NULL,
  time        INTEGER NOT NULL,
  version_tag TEXT NOT NULL,
  obstacle    TEXT NOT NULL,
  action      TEXT CHECK (action = 'create' OR action = 'skip' OR action = 'adopt' OR action = 'replace' OR action = 'update_metadata'
    OR action = 'move' OR action = 'trash' OR action = 'unchanged' OR action = 'conflict'),
  reason      TEXT NOT NULL DEFAULT '',
  state       TEXT NOT NULL DEFAULT 'staged' CHECK (state = 'planned' OR state = 'skipped' OR state = 'sending' OR state = 'done' OR state = 'staged'
    OR state = 'sent' OR state = 'retry_scheduled' OR state = 'failed' OR state = 'retries_exhausted' OR state = 'changed'
    OR state = 'conflict' OR state = 'unconfirmed'),
  category    TEXT NOT NULL DEFAULT '',
  folder      TEXT NOT NULL DEFAULT '',
  name        TEXT NOT NULL DEFAULT '',
  slot        INTEGER NOT NULL DEFAULT 0,
  attempts    INTEGER NOT NULL DEFAULT 0,
  intent_at   INTEGER,
  retry_at      INTEGER,
  checksum      BLOB,
  asset       TEXT NOT NULL DEFAULT '',
  class       TEXT NOT NULL DEFAULT '',
  error       TEXT NOT NULL DEFAULT '',
  base        INTEGER REFERENCES bases (id),
  previous_key      TEXT NOT NULL DEFAULT '',
  content_type TEXT,
  PRIMARY KEY (run, key),
  CHECK ((state = 'staged') = (action IS NULL)),
  CHECK (state <> 'skipped' OR action = 'skip' OR action = 'unchanged'),
  CHECK (state <> 'conflict' OR action = 'conflict'),
  CHECK (state <> 'sending' AND state <> 'unconfirmed'
    OR action <> 'skip' AND action <> 'unchanged' AND action <> 'conflict' AND intent_at IS NOT NULL),
  CHECK ((state = 'retry_scheduled') = (retry_at IS NOT NULL)),
  CHECK (state <> 'sent' AND state <> 'done' OR asset <> '')
) STRICT, WITHOUT ROWID;

CREATE INDEX items_open ON items (run, state, key)
  WHERE state = 'sending' OR state = 'sent' OR state = 'unconfirmed' OR state = 'retry_scheduled';

-- The older versions of objects that a run brings as revisions of their assets, before the object
-- itself: num ascends from the oldest. asset: what has the version now, until the object itself has
-- arrived; then the row goes. note: why it was omitted.
CREATE TABLE versions (
  run         INTEGER NOT NULL REFERENCES runs (num),
  key         TEXT NOT NULL,
  num         INTEGER NOT NULL,
  size        INTEGER NOT NULL,
  time        INTEGER NOT NULL,
  version_tag TEXT NOT NULL,
  version     TEXT NOT NULL CHECK (version <> ''),
  asset       TEXT NOT NULL DEFAULT '',
  note        TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (run, key, num)
) STRICT, WITHOUT ROWID;

-- Assets that have older versions of an object, and not the object itself yet.
CREATE TABLE open_histories (
  pair  INTEGER NOT NULL REFERENCES pairs (id),
  asset TEXT NOT NULL,
  PRIMARY KEY (pair, asset)
) STRICT, WITHOUT ROWID;

-- How many older versions of an object were at the source, and their bytes: all of them, and those
-- that the run brings.
CREATE TABLE histories (
  run         INTEGER NOT NULL REFERENCES runs (num),
  key         TEXT NOT NULL,
  older       INTEGER NOT NULL,
  older_bytes INTEGER NOT NULL,
  brought     INTEGER NOT NULL,
  brought_bytes INTEGER NOT NULL,
  PRIMARY KEY (run, key)
) STRICT, WITHOUT ROWID;

-- Earlier contents of assets that runs with versions uploaded: num ascends from the oldest. The
-- current content is in the receipt.
CREATE TABLE revisions (
  pair        INTEGER NOT NULL REFERENCES pairs (id),
  asset       TEXT NOT NULL,
  num         INTEGER NOT NULL,
  size        INTEGER NOT NULL,
  time        INTEGER NOT NULL,
  version_tag TEXT NOT NULL,
  checksum    BLOB NOT NULL CHECK (length(checksum) = 32),
  run         INTEGER NOT NULL REFERENCES runs (num),
  done_at     INTEGER NOT NULL,
  PRIMARY KEY (pair, asset, num)
) STRICT, WITHOUT ROWID;

-- How many items of a run share an action, a reason and a state, and their bytes. Items in
-- flight or waiting are few, and counted when asked for.
CREATE TABLE tallies (
  run     INTEGER NOT NULL REFERENCES runs (num),
  action  TEXT NOT NULL,
  reason  TEXT NOT NULL,
  state   TEXT NOT NULL CHECK (state NOT IN ('sending', 'sent', 'unconfirmed', 'retry_scheduled')),
  objects INTEGER NOT NULL,
  bytes   INTEGER NOT NULL,
  PRIMARY KEY (run, action, reason, state)
) STRICT, WITHOUT ROWID;

-- Every failed attempt, to explain an item later.
CREATE TABLE attempts (
  run     INTEGER NOT NULL REFERENCES runs (num),
  key     TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  at      INTEGER NOT NULL,
  class   TEXT NOT NULL,
  error   TEXT NOT NULL
) STRICT;

CREATE INDEX attempts_item ON attempts (run, key);

-- What a run got done in each minute since 1970: items that came to an outcome, and the bytes
-- of those that were sent, from the first outcome to the last.
CREATE TABLE throughput (
  run    INTEGER NOT NULL REFERENCES runs (num),
  minute INTEGER NOT NULL,
  items  INTEGER NOT NULL,
  bytes  INTEGER NOT NULL,
  first  INTEGER NOT NULL,
  last   INTEGER NOT NULL,
  PRIMARY KEY (run, minute)
) STRICT, WITHOUT ROWID;

-- The metadata fields found in the objects of a run, by metadata source: in how many objects,
-- and in how many of these no rule used the field.
CREATE TABLE fields (
  run      INTEGER NOT NULL REFERENCES runs (num),
  metadata_source   TEXT NOT NULL,
  field    TEXT NOT NULL,
  objects  INTEGER NOT NULL,
  unmapped INTEGER NOT NULL,
  PRIMARY KEY (run, metadata_source, field)
) STRICT, WITHOUT ROWID;

-- What a run was about to replace, describe, move or trash, as it was before: the receipt, and
-- of the asset what people can change. An undo needs both.
CREATE TABLE former (
  run     INTEGER NOT NULL REFERENCES runs (num),
  key     TEXT NOT NULL,
  receipt TEXT NOT NULL CHECK (json_type(receipt) = 'object'),
  asset   TEXT NOT NULL CHECK (json_type(asset) = 'object'),
  PRIMARY KEY (run, key)
) STRICT, WITHOUT ROWID;

-- Objects that a plan compares by content. checksum is of as much as was read so far; NULL if
-- nothing could be read.
CREATE TABLE contents (
  run    INTEGER NOT NULL REFERENCES runs (num),
  key    TEXT NOT NULL,
  size   INTEGER NOT NULL,
  checksum BLOB,
  PRIMARY KEY (run, key)
) STRICT, WITHOUT ROWID;

-- For each object, the asset that the destination confirmed, with the fingerprint and the checksum
-- of the uploaded content. modified: when the service last changed the asset for us, or NULL if
-- unknown. images: the URLs of an image in other sizes, or NULL for other assets; see images.go for
-- the form. content_run and content_at: the run that uploaded or adopted the content, and the time;
-- NULL if they equal run and done_at. A run that only moves the asset or updates its metadata keeps
-- them.
CREATE TABLE receipts (
  pair        INTEGER NOT NULL REFERENCES pairs (id),
  key         TEXT NOT NULL,
  size        INTEGER NOT NULL,
  time        INTEGER NOT NULL,
  version_tag TEXT NOT NULL,
  checksum      BLOB NOT NULL CHECK (length(checksum) = 32),
  asset       TEXT NOT NULL CHECK (asset <> ''),
  name        TEXT NOT NULL,
  extension   TEXT NOT NULL,
  category    TEXT NOT NULL,
  folder      TEXT NOT NULL,
  url         TEXT NOT NULL,
  slot        INTEGER NOT NULL,
  adopted     INTEGER NOT NULL CHECK (adopted IN (0, 1)),
  metadata_pending INTEGER NOT NULL CHECK (metadata_pending IN (0, 1)),
  run         INTEGER NOT NULL REFERENCES runs (num),
  done_at     INTEGER NOT NULL,
  modified    INTEGER,
  images      TEXT CHECK (json_type(images) = 'array'),
  base        INTEGER REFERENCES bases (id),
  content_type TEXT,
  content_run INTEGER REFERENCES runs (num),
  content_at  INTEGER,
  PRIMARY KEY (pair, key)
) STRICT, WITHOUT ROWID;

-- No asset may stand for two objects of a pair.
CREATE UNIQUE INDEX receipts_asset ON receipts (pair, asset);

-- Few assets have another name than their object, and each plan and report asks for them. The
-- condition is that of names.go, word for word, or SQLite would not use the index.
CREATE INDEX receipts_names ON receipts (pair, key) WHERE base IS NULL
  AND substr('/' || key, -length('/' || name || CASE extension WHEN '' THEN '' ELSE '.' || extension END))
    <> '/' || name || CASE extension WHEN '' THEN '' ELSE '.' || extension END;

-- There is no index of slot: a plan asks once which of the places it wants are taken, and reads
-- all receipts anyway. Each receipt would cost an entry at a random page.

-- What many assets of a destination have in common: category, the URL before and after the id,
-- and the content type, where the source has no other metadata. bases.go says which rows name
-- one instead.
CREATE TABLE bases (
  id           INTEGER PRIMARY KEY,
  category     TEXT NOT NULL,
  url_before   TEXT NOT NULL,
  url_after    TEXT NOT NULL,
  content_type TEXT NOT NULL,
  UNIQUE (category, url_before, url_after, content_type)
) STRICT;

-- Metadata that was kept with objects at their source, of those that have a receipt and any
-- metadata. metadata and tags are JSON objects.
CREATE TABLE descriptions (
  pair         INTEGER NOT NULL,
  key          TEXT NOT NULL,
  content_type TEXT NOT NULL,
  metadata     TEXT NOT NULL CHECK (json_type(metadata) = 'object'),
  tags         TEXT NOT NULL CHECK (json_type(tags) = 'object'),
  PRIMARY KEY (pair, key),
  FOREIGN KEY (pair, key) REFERENCES receipts (pair, key)
) STRICT, WITHOUT ROWID;

-- What the source said of an object when its asset was last described, and what was found of it
-- then, by metadata source.
CREATE TABLE described (
  pair     INTEGER NOT NULL,
  key      TEXT NOT NULL,
  metadata TEXT NOT NULL CHECK (json_type(metadata) = 'object'),
  found    TEXT NOT NULL DEFAULT '{}' CHECK (json_type(found) = 'object'),
  PRIMARY KEY (pair, key)
) STRICT, WITHOUT ROWID;

-- URLs that objects had, as their sources say, and in the form in which URLs are compared.
-- What was said once stays.
CREATE TABLE old_urls (
  pair       INTEGER NOT NULL REFERENCES pairs (id),
  key        TEXT NOT NULL,
  url        TEXT NOT NULL,
  comparable TEXT NOT NULL,
  PRIMARY KEY (pair, key, url)
) STRICT, WITHOUT ROWID;

CREATE INDEX old_urls_comparable ON old_urls (pair, comparable);

-- Objects that failed, in how many runs, as they were then, and since when they fail run after
-- run. unclear: whether the object may have arrived all the same. refused: whether a scan refused
-- its content.
CREATE TABLE failures (
  pair        INTEGER NOT NULL REFERENCES pairs (id),
  key         TEXT NOT NULL,
  size        INTEGER NOT NULL,
  time        INTEGER NOT NULL,
  version_tag TEXT NOT NULL,
  runs        INTEGER NOT NULL,
  last_run    INTEGER NOT NULL REFERENCES runs (num),
  unclear     INTEGER NOT NULL,
  refused     INTEGER NOT NULL CHECK (refused IN (0, 1)),
  error       TEXT NOT NULL,
  since       INTEGER,
  PRIMARY KEY (pair, key)
) STRICT, WITHOUT ROWID;

-- Files beside objects that describe them, as they were listed last. pending: an existing asset
-- is still to be described by one; sidecars.go has the values.
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

CREATE INDEX sidecars_folded ON sidecars (pair, folded);

CREATE INDEX sidecars_pending ON sidecars (pair, key) WHERE pending <> 0;

-- Keys under which objects had arrived that have another key now: that of a receipt.
CREATE TABLE former_keys (
  pair  INTEGER NOT NULL REFERENCES pairs (id),
  key   TEXT NOT NULL,
  owner TEXT NOT NULL,
  PRIMARY KEY (pair, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX former_keys_owner ON former_keys (pair, owner);

-- Objects with the content of another one, the owner, whose asset they share: as they were when
-- that was found. An alias counts as long as the asset of its owner has the content checksum.
CREATE TABLE aliases (
  pair        INTEGER NOT NULL REFERENCES pairs (id),
  key         TEXT NOT NULL,
  size        INTEGER NOT NULL,
  time        INTEGER NOT NULL,
  version_tag TEXT NOT NULL,
  owner       TEXT NOT NULL,
  run         INTEGER NOT NULL REFERENCES runs (num),
  checksum      BLOB NOT NULL DEFAULT x'',
  content_type TEXT,
  PRIMARY KEY (pair, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX aliases_owner ON aliases (pair, owner);

-- Objects that have arrived and that finished runs no longer found at the source: since when,
-- and in how many runs in a row. wave: that of these runs.
CREATE TABLE orphans (
  pair  INTEGER NOT NULL REFERENCES pairs (id),
  key   TEXT NOT NULL,
  since INTEGER NOT NULL,
  runs  INTEGER NOT NULL,
  wave  TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (pair, key)
) STRICT, WITHOUT ROWID;

-- Categories as they were last seen at a destination: reports need their names and know from
-- this which ones are private.
CREATE TABLE categories (
  destination TEXT NOT NULL,
  id          TEXT NOT NULL,
  name        TEXT NOT NULL,
  private     INTEGER NOT NULL CHECK (private IN (0, 1)),
  PRIMARY KEY (destination, id)
) STRICT, WITHOUT ROWID;

-- The category chosen for an extension, so that later runs choose the same.
CREATE TABLE choices (
  destination TEXT NOT NULL,
  extension   TEXT NOT NULL,
  category    TEXT NOT NULL,
  PRIMARY KEY (destination, extension)
) STRICT, WITHOUT ROWID;

-- Folders known at a destination, by their path within a category.
CREATE TABLE folders (
  destination TEXT NOT NULL,
  category    TEXT NOT NULL,
  path        TEXT NOT NULL,
  id          TEXT NOT NULL,
  PRIMARY KEY (destination, category, path)
) STRICT, WITHOUT ROWID;

-- Folders, and new categories with an empty path, that were requested and not answered yet.
CREATE TABLE intents (
  destination TEXT NOT NULL,
  category    TEXT NOT NULL,
  path        TEXT NOT NULL,
  at          INTEGER NOT NULL,
  PRIMARY KEY (destination, category, path)
) STRICT, WITHOUT ROWID;

-- Folders, and categories with an empty path, that held no assets but those of the pair when
-- they were made or last listed. All others are listed before something is put there.
CREATE TABLE ours (
  pair     INTEGER NOT NULL REFERENCES pairs (id),
  category TEXT NOT NULL,
  path     TEXT NOT NULL,
  PRIMARY KEY (pair, category, path)
) STRICT, WITHOUT ROWID;

-- Assets that are not ours and have the name, size and place of one that is, as far as a plan
-- saw them before it placed ours, or ours was replaced by a new one.
CREATE TABLE namesakes (
  pair  INTEGER NOT NULL REFERENCES pairs (id),
  asset TEXT NOT NULL,
  PRIMARY KEY (pair, asset)
) STRICT, WITHOUT ROWID;

-- Assets seen at the destination, staged for a comparison and dropped after it.
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

CREATE INDEX inventory_slot ON inventory (scope, slot);

-- Requests made to a destination in each minute since 1970, for the request limit.
CREATE TABLE calls (
  destination TEXT NOT NULL,
  minute      INTEGER NOT NULL,
  n           INTEGER NOT NULL,
  PRIMARY KEY (destination, minute)
) STRICT, WITHOUT ROWID;

-- The results of verify, one row a call. wave: the part of the source that it covers; empty: all of it.
CREATE TABLE verifications (
  id          INTEGER PRIMARY KEY,
  pair        INTEGER NOT NULL REFERENCES pairs (id),
  wave        TEXT NOT NULL DEFAULT '',
  at          INTEGER NOT NULL,
  level       TEXT NOT NULL CHECK (level IN ('listing', 'sample', 'checksum')),
  receipts    INTEGER NOT NULL,
  contents    INTEGER NOT NULL,
  differences INTEGER NOT NULL
) STRICT;

-- The assets that a verification of a wave compared since the last one of the whole pair.
CREATE TABLE wave_checks (
  pair         INTEGER NOT NULL REFERENCES pairs (id),
  asset        TEXT NOT NULL,
  verification INTEGER NOT NULL,
  PRIMARY KEY (pair, asset)
) STRICT, WITHOUT ROWID;

-- A verification of all assets replaces those of waves.
CREATE TRIGGER wave_checks_end AFTER INSERT ON verifications WHEN NEW.wave = '' BEGIN
  DELETE FROM wave_checks WHERE pair = NEW.pair;
END;

-- The differences that the last verification of each asset found. Their objects may have been moved
-- since.
CREATE TABLE differences (
  verification INTEGER NOT NULL REFERENCES verifications (id),
  key          TEXT NOT NULL,
  asset        TEXT NOT NULL,
  field        TEXT NOT NULL,
  what         TEXT NOT NULL,
  PRIMARY KEY (verification, key, field)
) STRICT, WITHOUT ROWID;

CREATE INDEX differences_asset ON differences (asset, verification);

-- The content of single assets after the last verification that read all contents of the pair.
-- intact is 1 where a sample, or a verification of a wave, read the asset back after that, and 0 where
-- that verification, or a later one, found it missing or with another size or content.
CREATE TABLE content_checks (
  pair   INTEGER NOT NULL REFERENCES pairs (id),
  asset  TEXT NOT NULL,
  at     INTEGER NOT NULL,
  intact INTEGER NOT NULL CHECK (intact IN (0, 1)),
  PRIMARY KEY (pair, asset)
) STRICT, WITHOUT ROWID;

-- Audits of the assets of a destination. The number of an audit shows which assets it contains.
CREATE TABLE audits (
  destination TEXT PRIMARY KEY,
  audit       INTEGER NOT NULL,
  at          INTEGER NOT NULL,
  whole       INTEGER NOT NULL CHECK (whole IN (0, 1))
) STRICT, WITHOUT ROWID;

-- The assets in the last audit of a destination.
CREATE TABLE audited (
  destination   TEXT NOT NULL,
  asset         TEXT NOT NULL CHECK (asset <> ''),
  audit         INTEGER NOT NULL,
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

-- Assets that a person said need no description.
CREATE TABLE decorative (
  destination TEXT NOT NULL,
  asset       TEXT NOT NULL CHECK (asset <> ''),
  since       INTEGER NOT NULL,
  PRIMARY KEY (destination, asset)
) STRICT, WITHOUT ROWID;

-- contexts: the contexts of the AI content service that a run refers to, as people write them.
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
  bytes       INTEGER NOT NULL DEFAULT 0,
  contexts    TEXT NOT NULL DEFAULT '[]' CHECK (json_type(contexts) = 'array')
) STRICT;

CREATE INDEX enrichment_runs_destination ON enrichment_runs (destination, num);

-- Proposals for assets with their states.
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

-- Changes of assets by runs: the values before and after.
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

-- Conversations that may exist at the AI content service: one is stored before its creation, and
-- removed after its deletion. A spent one only remains to be deleted.
CREATE TABLE conversations (
  service    TEXT NOT NULL,
  id         TEXT NOT NULL CHECK (id <> ''),
  enrichment INTEGER NOT NULL REFERENCES enrichments (num),
  spent      INTEGER NOT NULL DEFAULT 0 CHECK (spent IN (0, 1)),
  at         INTEGER NOT NULL,
  PRIMARY KEY (service, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX conversations_enrichment ON conversations (enrichment);
