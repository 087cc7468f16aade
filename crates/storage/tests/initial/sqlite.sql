-- A row in every table of the initial migration.

INSERT INTO users
  (id, email, password_hash, email_confirmed_at, confirmation_sent_at, recovery_sent_at, new_email,
   email_change_sent_at, email_change_confirmed, reauthentication_sent_at, invited_at, banned_until,
   last_sign_in_at, is_anonymous, user_metadata, app_metadata, identity_id, created_at, updated_at, deleted_at)
  VALUES (x'00000000000000000000000000000001', 'ada@example.com',
    '$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHQ$aGFzaA', 1795255200000000, 1795255200000000, 1795255200000000,
    'ada@example.org', 1795255200000000, 'current', 1795255200000000, 1795255200000000, NULL, 1795255200000000,
    0, '{}', '{}', x'00000000000000000000000000000002', 1795255200000000, 1795255200000000, NULL);
INSERT INTO auth_sessions
  (id, user_id, refresh_counter, refreshed_at, confirmed_at, used_at, aal, amr, factor_id, user_agent,
   created_at)
  VALUES (x'00000000000000000000000000000003', x'00000000000000000000000000000001', 1, 1795255200000000,
    1795255200000000, 1795255200000000, 'aal1', '[]', x'00000000000000000000000000000005', 'Firefox',
    1795255200000000);
INSERT INTO signing_keys
  (number, private_key, created_at)
  VALUES (1, x'10ff', 1795255200000000);
INSERT INTO one_time_tokens
  (id, user_id, kind, email, link_hash, code_hash, attempts, challenge, challenge_method, from_sign_up,
   expires_at)
  VALUES (x'00000000000000000000000000000004', x'00000000000000000000000000000001', 'recovery',
    'ada@example.com', x'13ff', x'13ff', 1, 'challenge', 'plain', 0, 1795255200000000);
INSERT INTO auth_codes
  (code_hash, user_id, method, challenge, challenge_method, expires_at)
  VALUES (x'18ff', x'00000000000000000000000000000001', 'otp', 'challenge', 'plain', 1795255200000000);
INSERT INTO mfa_factors
  (id, user_id, friendly_name, status, secret, last_step, last_challenged_at, created_at, updated_at)
  VALUES (x'00000000000000000000000000000005', x'00000000000000000000000000000001', 'Phone', 'verified',
    x'1bff', 1, 1795255200000000, 1795255200000000, 1795255200000000);
INSERT INTO mfa_challenges
  (id, factor_id, address, verified_at, created_at)
  VALUES (x'00000000000000000000000000000006', x'00000000000000000000000000000005', '127.0.0.1',
    1795255200000000, 1795255200000000);
INSERT INTO api_keys
  (id, user_id, name, hint, hash, scopes, created_at, last_used_at, expires_at)
  VALUES (x'00000000000000000000000000000007', x'00000000000000000000000000000001', 'Name', 'abcd', x'23ff',
    'chat tools', 1795255200000000, 1795255200000000, 1795255200000000);
INSERT INTO mcp_servers
  (id, user_id, name, url, url_query, tools, disabled_tools, status, headers, created_at, updated_at)
  VALUES (x'00000000000000000000000000000008', x'00000000000000000000000000000001', 'Name',
    'https://mcp.example/', x'27ff', '[]', '[]', 'connected', x'27ff', 1795255200000000, 1795255200000000);
INSERT INTO tool_lists
  (server_id, user_id, url, tools, server_info, listed_at)
  VALUES (x'00000000000000000000000000000008', x'00000000000000000000000000000001', 'https://mcp.example/',
    '[]', '{}', 1795255200000000);
INSERT INTO tool_permissions
  (server_id, tool, user_id, permission, url, definition_hash, definition, updated_at)
  VALUES (x'00000000000000000000000000000008', 'search', x'00000000000000000000000000000001', 'always',
    'https://mcp.example/', '00', '{}', 1795255200000000);
INSERT INTO server_instructions
  (server_id, user_id, hash, instructions, updated_at)
  VALUES (x'00000000000000000000000000000008', x'00000000000000000000000000000001', '00', '', 1795255200000000);
INSERT INTO server_credentials
  (user_id, server_id, issuer, secret, seq)
  VALUES (x'00000000000000000000000000000001', x'00000000000000000000000000000008', 'https://auth.example',
    x'36ff', 1);
INSERT INTO server_clients
  (user_id, server_id, secret)
  VALUES (x'00000000000000000000000000000001', x'00000000000000000000000000000008', x'3aff');
INSERT INTO server_locks
  (user_id, server_id, owner, expires_at)
  VALUES (x'00000000000000000000000000000001', x'00000000000000000000000000000008',
    x'00000000000000000000000000000009', 1795255200000000);
INSERT INTO credentials
  (user_id, provider, secret, updated_at)
  VALUES (x'00000000000000000000000000000001', 'google', x'41ff', 1795255200000000);
INSERT INTO authorizations
  (state, user_id, provider, secret, expires_at)
  VALUES ('state', x'00000000000000000000000000000001', 'google', x'44ff', 1795255200000000);
INSERT INTO ai_chat_sessions
  (id, user_id, title, created_at, updated_at)
  VALUES (x'0000000000000000000000000000000a', x'00000000000000000000000000000001', 'A chat', 1795255200000000,
    1795255200000000);
INSERT INTO ai_chat_messages
  (id, session_id, role, content, tool_calls, parts, status, error, model, created_at, parent_id,
   inactive_since)
  VALUES (x'0000000000000000000000000000000b', x'0000000000000000000000000000000a', 'user', 'Hello', '[]', '[]',
    'done', '', 'openai/gpt', 1795255200000000, NULL, NULL);
INSERT INTO chat_settings
  (user_id, session_id, pinned_at, archived_at, model, settings)
  VALUES (x'00000000000000000000000000000001', x'0000000000000000000000000000000a', 1795255200000000,
    1795255200000000, 'openai/gpt', '{}');
INSERT INTO ai_chat_sessions
  (user_id, id, title, created_at, updated_at, deleted_at)
  VALUES (x'00000000000000000000000000000001', x'00000000000000000000000000000018', 'A chat', 1795255200000000,
    1795255200000000, 1795255200000000);
INSERT INTO ai_chat_messages
  (session_id, id, role, content, tool_calls, parts, status, error, model, created_at, parent_id,
   inactive_since)
  VALUES (x'00000000000000000000000000000018',
    x'00000000000000000000000000000019', 'user', 'Hello', '[]', '[]', 'done', '', 'openai/gpt',
    1795255200000000, NULL, NULL);
INSERT INTO queued_messages
  (id, session_id, user_id, content, parts, tools, position)
  VALUES (x'0000000000000000000000000000000c', x'0000000000000000000000000000000a',
    x'00000000000000000000000000000001', 'Hello', '[]', '[]', 1);
INSERT INTO chat_shares
  (id, token_hash, user_id, session_id, title, messages, count, tools, created_at)
  VALUES (x'0000000000000000000000000000000d', x'62ff', x'00000000000000000000000000000001',
    x'0000000000000000000000000000000a', 'A chat', '[]', 1, 0, 1795255200000000);
INSERT INTO attachments
  (id, user_id, attachment, created_at)
  VALUES (x'0000000000000000000000000000000e', x'00000000000000000000000000000001', '{}', 1795255200000000);
INSERT INTO turns
  (id, session_id, user_id, message_id, status, model, tools, node_id, is_waiting, created_at, ended_at)
  VALUES (x'0000000000000000000000000000000f', x'0000000000000000000000000000000a',
    x'00000000000000000000000000000001', x'0000000000000000000000000000001a', 'running', 'openai/gpt', '[]',
    x'00000000000000000000000000000013', 0, 1795255200000000, NULL);
INSERT INTO turn_journal
  (turn_id, seq, payload)
  VALUES (x'0000000000000000000000000000000f', 1, '{}');
INSERT INTO turn_commands
  (turn_id, command)
  VALUES (x'0000000000000000000000000000000f', 'stop');
INSERT INTO interactions
  (id, turn_id, user_id, tool_call_id, kind, server_id, tool, url, definition, instructions, response, arguments,
   created_at, responded_at)
  VALUES (x'00000000000000000000000000000010', x'0000000000000000000000000000000f',
    x'00000000000000000000000000000001', 'call', 'approval', x'00000000000000000000000000000008',
    'search', 'https://mcp.example/', '{}', '', 'once', '{}', 1795255200000000, 1795255200000000);
INSERT INTO interactions
  (id, turn_id, user_id, tool_call_id, kind, resume_state, response, content, created_at, responded_at)
  VALUES (x'00000000000000000000000000000011', x'0000000000000000000000000000000f',
    x'00000000000000000000000000000001', 'call', 'elicitation', x'7aff', 'accept', x'7aff',
    1795255200000000, 1795255200000000);
INSERT INTO tool_tasks
  (turn_id, tool_call_id, user_id, server_id, url, allowed_by, task, form, ttl_ms, created_at)
  VALUES (x'0000000000000000000000000000000f', 'call', x'00000000000000000000000000000001',
    x'00000000000000000000000000000008', 'https://mcp.example/', 'once', 'task', 'core', 1, 1795255200000000);
INSERT INTO tool_audit
  (id, user_id, server_name, tool, allowed_by, outcome, created_at)
  VALUES (x'00000000000000000000000000000012', x'00000000000000000000000000000001', 'Name', 'search', 'once',
    'ok', 1795255200000000);
INSERT INTO nodes
  (id, heartbeat)
  VALUES (x'00000000000000000000000000000013', 1);
INSERT INTO node_messages
  (id, text, created_at)
  VALUES (x'00000000000000000000000000000014', 'text', 1795255200000000);
INSERT INTO model_usage
  (id, user_id, session_id, message_id, model, input_tokens, output_tokens, cached_input_tokens, is_estimate,
   cost_nanos, created_at)
  VALUES (x'00000000000000000000000000000015', x'00000000000000000000000000000001',
    x'0000000000000000000000000000000a', x'0000000000000000000000000000001a', 'openai/gpt', 1, 1, 1, 1, 1,
    1795255200000000);
INSERT INTO model_favourites
  (user_id, model, created_at)
  VALUES (x'00000000000000000000000000000001', 'openai/gpt', 1795255200000000);
INSERT INTO model_defaults
  (user_id, model, settings)
  VALUES (x'00000000000000000000000000000001', 'openai/gpt', '{}');
INSERT INTO model_providers
  (id, user_id, slug, name, kind, base_url, secret, hint, created_at, changed_at)
  VALUES (x'00000000000000000000000000000016', x'00000000000000000000000000000001', 'mine', 'Name', 'openai',
    'https://models.example', x'99ff', 'abcd', 1795255200000000, 1795255200000000);
INSERT INTO files
  (id, user_id, session_id, media_type, name, size, maybe_orphaned, created_at)
  VALUES (x'00000000000000000000000000000017', x'00000000000000000000000000000001',
    x'0000000000000000000000000000000a', 'text/plain', 'Name', 1, 0, 1795255200000000);
INSERT INTO file_bytes
  (file_id, bytes)
  VALUES (x'00000000000000000000000000000017', x'a1ff');
INSERT INTO file_uses
  (holder_id, file_id)
  VALUES (x'0000000000000000000000000000000b', x'00000000000000000000000000000017');
UPDATE search_entries SET pending = 0;
INSERT INTO search_words (rowid, words) SELECT seq, 'hello' FROM search_entries;
