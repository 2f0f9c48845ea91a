-- name: put -- hot
INSERT INTO stream_records (shard, seq, at, partition_key, data) VALUES (?, ?, ?, ?, ?);

-- name: last -- hot
SELECT seq, at FROM stream_records WHERE shard = ? ORDER BY seq DESC LIMIT 1;

-- name: first -- hot
SELECT seq, at FROM stream_records WHERE shard = ? ORDER BY seq LIMIT 1;

-- name: from -- hot
SELECT seq, at FROM stream_records WHERE shard = ? AND seq >= ? ORDER BY seq LIMIT 1;

-- name: page -- hot
SELECT seq, at, partition_key, data FROM stream_records
WHERE shard = :shard AND seq > :seq AND seq <= :seq_last ORDER BY seq LIMIT :limit;

-- name: written -- hot
SELECT count(*), coalesce(sum(length(data) + length(partition_key)), 0)
FROM stream_records WHERE shard = ? AND seq > ? AND at >= ?;

-- name: delete -- hot
DELETE FROM stream_records WHERE shard = ? AND seq <= ?;

-- name: drop_all
DELETE FROM stream_records WHERE (shard, seq) IN (
  SELECT r.shard, r.seq FROM stream_records AS r WHERE r.shard >= ? AND r.shard < ? ORDER BY r.shard, r.seq LIMIT ?
);

-- name: nth -- hot
SELECT max(n.seq) FROM (SELECT seq FROM stream_records WHERE shard = ? ORDER BY seq LIMIT ?) AS n;
