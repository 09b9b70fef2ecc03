-- The items as they were, but with the checks of action and state written out: SQLite
-- makes a table of each list of IN for each row that it checks, and that took almost half
-- of what it takes to store an item.
CREATE TABLE new_items (
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
  base        INTEGER REFERENCES bases (id),
  PRIMARY KEY (run, key),
  CHECK ((state = 'staged') = (action IS NULL)),
  CHECK (state <> 'skipped' OR action = 'skip' OR action = 'unchanged'),
  CHECK (state <> 'conflict' OR action = 'conflict'),
  CHECK (state <> 'sending' AND state <> 'in_doubt'
    OR action <> 'skip' AND action <> 'unchanged' AND action <> 'conflict' AND intent_at IS NOT NULL),
  CHECK ((state = 'waiting') = (due_at IS NOT NULL)),
  CHECK (state <> 'sent' AND state <> 'done' OR asset <> '')
) STRICT, WITHOUT ROWID;

INSERT INTO new_items SELECT * FROM items;

DROP TABLE items;

ALTER TABLE new_items RENAME TO items;

CREATE INDEX items_open ON items (run, state, key) WHERE state IN ('sending', 'sent', 'in_doubt', 'waiting');
