-- From now on a mapping is polled when its timer is due. Before, all mappings were polled all the time. The first poll
-- sets the right timer. Until now, timers of this kind were pauses.
INSERT INTO timers (kind, name, at) SELECT 'lambda.mapping', scope || '/' || name, 0 FROM resources
WHERE kind = 'lambda.event_source_mapping'
ON CONFLICT (kind, name) DO UPDATE SET at = 0;
