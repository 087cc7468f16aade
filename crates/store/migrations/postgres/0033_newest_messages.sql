-- Here is such an index (0024).
SELECT 1;
