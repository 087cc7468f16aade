-- What a call of a model cost in money, in billionths of a US dollar at the price of its day; NULL where that is not known.
ALTER TABLE model_usage ADD COLUMN cost_nanos INTEGER;
