-- name: begin
INSERT INTO bodies (id, size, refs, place, at) VALUES (:id, 0, 0, 'rows', :at);

-- name: renew
UPDATE bodies SET at = :at WHERE id = :id AND refs = 0;

-- name: adopt
UPDATE bodies SET refs = 1, size = :size, at = :at WHERE id = :id AND refs = 0 AND place = 'rows';

-- name: give_up
UPDATE bodies SET place = 'gone' WHERE id = :id AND refs = 0;

-- name: put
INSERT INTO bodies (id, size, refs, place, at) VALUES (:id, :size, 1, :place, :at);

-- name: count
UPDATE bodies SET refs = refs + :by, at = :at WHERE id = :id;

-- name: place -- hot
SELECT place FROM bodies WHERE id = ?;

-- name: unreferenced
SELECT id, place FROM bodies WHERE refs = 0 AND at <= :at ORDER BY at LIMIT :limit;

-- name: next_unreferenced
SELECT min(at) FROM bodies WHERE refs = 0;

-- name: in_files
SELECT id, size FROM bodies WHERE place = 'file' ORDER BY id;

-- name: in_rows_now
UPDATE bodies SET place = 'rows' WHERE id = :id;

-- name: delete
DELETE FROM bodies WHERE id = :id AND refs = 0;

-- name: put_piece
INSERT INTO body_pieces (body_id, first, content) VALUES (?, ?, ?);

-- name: pieces
SELECT first, content FROM body_pieces
WHERE body_id = :id AND first >= (SELECT max(p.first) FROM body_pieces AS p WHERE p.body_id = :id AND p.first <= :first)
  AND first < :last ORDER BY first;

-- name: first_piece
SELECT min(first) FROM body_pieces WHERE body_id = :id;

-- name: delete_pieces
DELETE FROM body_pieces WHERE body_id = :id AND first < :before;
