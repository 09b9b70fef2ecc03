-- Whether an asset is verified does not depend on runs that only move or describe it.
-- content_run and content_at say which run uploaded or adopted its content, and when the
-- content came to be there; NULL is the run of the receipt and done_at.
ALTER TABLE receipts ADD COLUMN content_run INTEGER REFERENCES runs (num);
ALTER TABLE receipts ADD COLUMN content_at INTEGER;

-- What is known of the content of single assets besides the last verification that read all
-- contents of the pair: intact is 1 where a sample read the asset back after that, and 0
-- where that verification, or one since, found it missing or of another size or content.
CREATE TABLE content_checks (
  pair   INTEGER NOT NULL REFERENCES pairs (id),
  asset  TEXT NOT NULL,
  at     INTEGER NOT NULL,
  intact INTEGER NOT NULL CHECK (intact IN (0, 1)),
  PRIMARY KEY (pair, asset)
) STRICT, WITHOUT ROWID;

-- The differences of older verifications were forgotten: those that had any prove nothing.
UPDATE verifications SET level = 'sample' WHERE level = 'content' AND differences > 0
  AND id < (SELECT max(v.id) FROM verifications v WHERE v.pair = verifications.pair);
INSERT OR IGNORE INTO content_checks (pair, asset, at, intact)
  SELECT v.pair, d.asset, v.at, 0 FROM differences d JOIN verifications v ON v.id = d.verification
  WHERE d.field IN ('presence', 'size', 'content');

-- Differences are of assets, whose objects may have been moved since.
CREATE INDEX differences_asset ON differences (verification, asset);
