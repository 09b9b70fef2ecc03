-- Assets that are called otherwise than their objects are few, and each plan and report asks
-- for them. The condition is that of names.go, word for word, or SQLite would not use this.
CREATE INDEX IF NOT EXISTS receipts_names ON receipts (pair, key) WHERE base IS NULL
  AND substr('/' || key, -length('/' || name || CASE extension WHEN '' THEN '' ELSE '.' || extension END))
    <> '/' || name || CASE extension WHEN '' THEN '' ELSE '.' || extension END;
