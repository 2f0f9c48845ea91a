-- Slots use another digest from now on, so that scans are in DynamoDB's order. `slot_of` is the store's SQL function.
UPDATE items SET slot = slot_of(hash_key);
