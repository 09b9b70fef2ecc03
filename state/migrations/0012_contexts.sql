-- The contexts of the AI content service that a run refers to, as people write them.
ALTER TABLE enrichment_runs ADD COLUMN contexts TEXT NOT NULL DEFAULT '[]' CHECK (json_type(contexts) = 'array');
