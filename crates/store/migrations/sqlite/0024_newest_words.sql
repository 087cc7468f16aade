-- Here a search reads the newest first by itself.
SELECT 1;
