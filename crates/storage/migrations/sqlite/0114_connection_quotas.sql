-- Connections to MCP servers that a single user may have, in place of the setting. NULL: the setting applies. -1: no limit.
ALTER TABLE user_quotas ADD COLUMN connections INTEGER;
