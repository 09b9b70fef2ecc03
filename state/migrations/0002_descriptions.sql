-- What was kept with objects at their source, of those that have a receipt and where
-- there was something. Metadata and tags are JSON objects.
CREATE TABLE descriptions (
  pair         INTEGER NOT NULL,
  key          TEXT NOT NULL,
  content_type TEXT NOT NULL,
  metadata     TEXT NOT NULL CHECK (json_type(metadata) = 'object'),
  tags         TEXT NOT NULL CHECK (json_type(tags) = 'object'),
  PRIMARY KEY (pair, key),
  FOREIGN KEY (pair, key) REFERENCES receipts (pair, key)
) STRICT, WITHOUT ROWID;
