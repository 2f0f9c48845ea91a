-- name: get
SELECT value FROM facts WHERE name = :name;

-- name: set
INSERT INTO facts (name, value) VALUES (:name, :value) ON CONFLICT (name) DO UPDATE SET value = :value;
