-- Whether the tallies of a run are kept, which they are once its plan is finished.
ALTER TABLE runs ADD COLUMN tallied INTEGER NOT NULL DEFAULT 0 CHECK (tallied IN (0, 1));

-- How many items of a run share an action, a reason and a state, and their bytes, so that
-- nobody has to count them. Those that are in flight or wait are few, and counted.
CREATE TABLE tallies (
  run     INTEGER NOT NULL REFERENCES runs (num),
  action  TEXT NOT NULL,
  reason  TEXT NOT NULL,
  state   TEXT NOT NULL CHECK (state NOT IN ('sending', 'sent', 'in_doubt', 'waiting')),
  objects INTEGER NOT NULL,
  bytes   INTEGER NOT NULL,
  PRIMARY KEY (run, action, reason, state)
) STRICT, WITHOUT ROWID;

INSERT INTO tallies (run, action, reason, state, objects, bytes)
  SELECT r.num, coalesce(i.action, ''), i.reason, i.state, count(*), sum(i.size)
  FROM runs r JOIN items i ON i.run = r.num
  WHERE r.state NOT IN ('scanning', 'planning') AND i.state NOT IN ('sending', 'sent', 'in_doubt', 'waiting')
  GROUP BY 1, 2, 3, 4;

UPDATE runs SET tallied = 1 WHERE state NOT IN ('scanning', 'planning');

-- How many receipts a pair has, and their bytes, for the same reason.
ALTER TABLE pairs ADD COLUMN objects INTEGER NOT NULL DEFAULT 0;
ALTER TABLE pairs ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;

UPDATE pairs SET (objects, bytes) = (SELECT count(*), coalesce(sum(size), 0) FROM receipts WHERE pair = pairs.id);

-- What many assets of a destination have in common: their category, what their addresses
-- are before and after the id, and of what type their content is, where the source keeps
-- that and nothing else with it. bases.go tells which rows name one instead.
CREATE TABLE bases (
  id           INTEGER PRIMARY KEY,
  category     TEXT NOT NULL,
  url_before   TEXT NOT NULL,
  url_after    TEXT NOT NULL,
  content_type TEXT NOT NULL,
  UNIQUE (category, url_before, url_after, content_type)
) STRICT;

ALTER TABLE receipts ADD COLUMN base INTEGER REFERENCES bases (id);

-- The items as they were, with a base, and with the checks of action and state written
-- out: SQLite makes a table of each list of IN for each row that it checks, and that took
-- almost half of what it takes to store an item.
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

INSERT INTO new_items SELECT *, NULL FROM items;

DROP TABLE items;

ALTER TABLE new_items RENAME TO items;

CREATE INDEX items_open ON items (run, state, key)
  WHERE state = 'sending' OR state = 'sent' OR state = 'in_doubt' OR state = 'waiting';

-- Whether a receipt holds a place is asked once in a plan, of all places that it wants:
-- that reads all receipts, as the plan does anyway, and saves each of them an entry with
-- its key at a random page.
DROP INDEX receipts_slot;
