-- The account that began a run; empty for runs of earlier versions.
ALTER TABLE runs ADD COLUMN started_by TEXT NOT NULL DEFAULT '';

-- Who vouches for the approver in approved_by: the fingerprint of the key that signed, or
-- else the account that stated the name. Earlier versions took the account for an approver
-- where nobody was named, so of theirs it is not known.
ALTER TABLE runs ADD COLUMN approval_stated_by TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN approval_key TEXT NOT NULL DEFAULT '';
UPDATE runs SET approval_stated_by = 'an unknown account' WHERE approved_by <> '';
