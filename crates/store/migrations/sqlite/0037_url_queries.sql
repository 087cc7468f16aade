-- The query of a connection's URL, sealed; `url` shows `***` for its values. NULL where the URL has no such query, and in
-- rows of before, which are sealed when the program starts.
ALTER TABLE mcp_servers ADD COLUMN url_query BLOB;

-- Copies of a URL that its connection no longer has match nothing any more. The others are masked with their connection.
UPDATE tool_permissions SET url = substr(url, 1, instr(url, '?')) || '***'
  WHERE url LIKE '%?%' AND NOT EXISTS (SELECT 1 FROM mcp_servers s WHERE s.id = server_id AND s.url = tool_permissions.url);
UPDATE tool_approvals SET url = substr(url, 1, instr(url, '?')) || '***'
  WHERE url LIKE '%?%' AND NOT EXISTS (SELECT 1 FROM mcp_servers s WHERE s.id = server_id AND s.url = tool_approvals.url);
UPDATE tool_tasks SET url = substr(url, 1, instr(url, '?')) || '***'
  WHERE url LIKE '%?%' AND NOT EXISTS (SELECT 1 FROM mcp_servers s WHERE s.id = server_id AND s.url = tool_tasks.url);
UPDATE server_listings SET url = substr(url, 1, instr(url, '?')) || '***'
  WHERE url LIKE '%?%' AND NOT EXISTS (SELECT 1 FROM mcp_servers s WHERE s.id = server_id AND s.url = server_listings.url);
