-- Scans go through hash keys in DynamoDB's order: slots are counted by another digest. `slot_of` is the store's own function.
UPDATE items SET slot = slot_of(hash_key);
