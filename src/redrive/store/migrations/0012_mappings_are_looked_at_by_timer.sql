-- A mapping is looked at when its timer is due; before, all were looked at all the time. The look sets the rest right.
-- Timers of this kind were pauses until now.
INSERT INTO timers (kind, name, at) SELECT 'lambda.mapping', scope || '/' || name, 0 FROM resources
WHERE kind = 'lambda.event_source_mapping'
ON CONFLICT (kind, name) DO UPDATE SET at = 0;
