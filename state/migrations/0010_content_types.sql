-- Of what type a content is, as the source says: rules choose by it. NULL where the source
-- does not say, or an earlier version did not keep it.
ALTER TABLE items ADD COLUMN content_type TEXT;
ALTER TABLE aliases ADD COLUMN content_type TEXT;
ALTER TABLE receipts ADD COLUMN content_type TEXT;
