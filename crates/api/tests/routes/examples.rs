//! A valid request for each route, made by the owner of the resource.

use http_server::route::Entry;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use super::fixture::{Fixture, PASSWORD, People, TABLES, push_subscription};

/// A valid request.
#[derive(Debug, Clone)]
pub struct Example {
    pub method: Method,
    /// Path and query.
    pub path: String,
    pub body: Option<Value>,
    /// A body that is not JSON.
    pub raw: Option<&'static str>,
    /// Status of the response to the owner, or to the administrator on administration routes.
    pub status: u16,
    pub headers: HeaderMap,
}

impl Example {
    /// Returns the request with a token.
    pub fn request(&self, fixture: &Fixture, token: Option<&str>) -> RequestBuilder {
        let url = format!("{}{}", fixture.app.url, self.path);
        let mut request = fixture.http.request(self.method.clone(), url).headers(self.headers.clone());
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        match &self.body {
            Some(body) => request.header(CONTENT_TYPE, "application/json").body(body.to_string()),
            None => match self.raw {
                Some(raw) => request.body(raw),
                None => request,
            },
        }
    }

    pub fn name(&self) -> String {
        format!("{} {}", self.method, self.path)
    }
}

/// Returns the examples of a route, one per table if the route serves several. Fails for a route without any.
pub fn examples(entry: &Entry, people: &People) -> Vec<Example> {
    let Entry { method, path, .. } = entry;
    if path == "/rest/v1/{table}" {
        return TABLES.map(|table| rows(method, table, people)).into();
    }
    let chat = path.replace("{id}", &people.chat);
    let connection = path.replace("{id}", &people.connection);
    let provider = path.replace("{id}", &people.model_provider);
    let factor = path.replace("{id}", &people.factor);
    let passkey = path.replace("{id}", &people.passkey);
    let nothing = path.replace("{id}", "00000000-0000-4000-8000-000000000000");
    let (path, body, status): (String, Option<Value>, u16) = match (method.as_str(), path.as_str()) {
        ("GET", "/health/live" | "/health/ready" | "/.well-known/jwks.json") => (path.clone(), None, 200),

        ("POST", "/auth/v1/signup") => {
            let email = format!("{}@example.com", domain::ids::fresh().simple());
            (path.clone(), Some(json!({ "email": email, "password": PASSWORD })), 200)
        }
        ("POST", "/auth/v1/token") => {
            let body = json!({ "email": people.owner.email, "password": PASSWORD });
            (format!("{path}?grant_type=password"), Some(body), 200)
        }
        ("GET", "/auth/v1/user" | "/auth/v1/settings" | "/auth/v1/health" | "/auth/v1/.well-known/jwks.json") => {
            (path.clone(), None, 200)
        }
        ("PUT", "/auth/v1/user") => (path.clone(), Some(json!({ "data": { "colour": "blue" } })), 200),
        ("POST", "/auth/v1/logout") => (format!("{path}?scope=local"), None, 204),
        ("POST", "/auth/v1/recover") => (path.clone(), Some(json!({ "email": "a@example.com" })), 400),
        ("POST", "/auth/v1/resend") => (path.clone(), Some(json!({ "type": "signup", "email": "a@example.com" })), 400),
        ("GET", "/auth/v1/reauthenticate") => (path.clone(), None, 400),
        ("POST", "/auth/v1/otp" | "/auth/v1/magiclink") => {
            (path.clone(), Some(json!({ "email": "a@example.com" })), 422)
        }
        ("GET", "/auth/v1/verify") => (format!("{path}?type=signup&token=abc"), None, 303),
        ("POST", "/auth/v1/verify") => {
            (path.clone(), Some(json!({ "type": "signup", "token": "123456", "email": "a@example.com" })), 403)
        }
        ("GET", "/auth/v1/authorize") => (format!("{path}?provider=google"), None, 400),
        ("POST", "/auth/v1/oidc/logout") => (path.clone(), None, 200),
        ("POST", "/auth/v1/oidc/backchannel-logout") => (path.clone(), None, 400),
        ("GET", "/auth/v1/callback") => (format!("{path}?state=abc&code=abc"), None, 303),
        ("POST", "/auth/v1/sso") => (path.clone(), Some(json!({ "domain": "example.com" })), 404),
        ("GET", "/auth/v1/user/identities/authorize") => (format!("{path}?provider=google"), None, 404),
        ("DELETE", "/auth/v1/user/identities/{id}") => (nothing, None, 404),
        ("GET" | "DELETE", "/auth/v1/user/oauth/grants") => (path.clone(), None, 404),
        ("POST", "/auth/v1/factors/recovery-codes") => {
            (path.clone(), Some(json!({ "friendly_name": "Backup codes" })), 422)
        }
        (_, "/auth/v1/factors/recovery-codes" | "/auth/v1/factors/recovery-codes/regenerate") => {
            (path.clone(), None, 404)
        }
        ("POST", "/auth/v1/factors/recovery-codes/verify") => (path.clone(), Some(json!({ "code": "abc" })), 422),
        ("POST", "/auth/v1/oauth/clients/register") => (path.clone(), Some(json!({ "client_name": "x" })), 404),
        ("POST", "/auth/v1/oauth/token") => (path.clone(), Some(json!({ "grant_type": "authorization_code" })), 404),
        ("GET", "/auth/v1/oauth/userinfo" | "/auth/v1/oauth/authorize") => (path.clone(), None, 404),
        ("GET", "/auth/v1/oauth/authorizations/{id}") => (nothing, None, 404),
        ("POST", "/auth/v1/oauth/authorizations/{id}/consent") => (nothing, Some(json!({ "action": "approve" })), 404),
        ("GET", "/auth/v1/sso/saml/metadata") => (path.clone(), None, 404),
        ("POST", "/auth/v1/sso/saml/acs") => (path.clone(), Some(json!({})), 404),
        ("GET", "/auth/v1/passkeys") => (path.clone(), None, 200),
        ("PATCH", "/auth/v1/passkeys/{id}") => (passkey, Some(json!({ "friendly_name": "phone" })), 200),
        ("DELETE", "/auth/v1/passkeys/{id}") => (passkey, None, 204),
        ("POST", "/auth/v1/passkeys/registration/options" | "/auth/v1/passkeys/authentication/options") => {
            (path.clone(), None, 200)
        }
        ("POST", "/auth/v1/passkeys/registration/verify" | "/auth/v1/passkeys/authentication/verify") => {
            (path.clone(), Some(json!({ "challenge_id": people.chat, "credential": {} })), 400)
        }
        ("POST", "/auth/v1/factors") => {
            let name = domain::ids::fresh().to_string();
            (path.clone(), Some(json!({ "factor_type": "totp", "friendly_name": name })), 200)
        }
        ("DELETE", "/auth/v1/factors/{id}") | ("POST", "/auth/v1/factors/{id}/challenge") => (factor, None, 200),
        ("POST", "/auth/v1/factors/{id}/verify") => {
            (factor, Some(json!({ "challenge_id": people.chat, "code": "123456" })), 422)
        }

        (_, path) if path.starts_with("/auth/v1/admin/") || path == "/auth/v1/invite" => {
            return vec![administration(method, path, people)];
        }

        ("GET", "/rest/v1") => (path.clone(), None, 404),
        ("GET", "/rest/v1/rpc/{name}") => (path.replace("{name}", "anything"), None, 404),
        ("POST", "/rest/v1/rpc/{name}") => (path.replace("{name}", "anything"), Some(json!({ "a": 1 })), 404),

        ("POST", "/functions/v1/ai-chat") => {
            (path.clone(), Some(json!({ "message": "Hello", "sessionId": people.chat, "tools": [] })), 200)
        }
        ("POST", "/functions/v1/mcp-proxy") => {
            let body = json!({ "url": "http://127.0.0.1:9/mcp", "name": "away", "headers": {} });
            (path.clone(), Some(body), 200)
        }

        ("GET", "/v1/models" | "/api/keys" | "/api/model-providers" | "/api/usage") => (path.clone(), None, 200),
        ("GET", "/v1/models/{id}") => (path.replace("{id}", "openai%2Fscripted"), None, 200),
        ("POST", "/v1/chat/completions") => {
            let messages = json!([{ "role": "user", "content": "Hello" }]);
            (path.clone(), Some(json!({ "model": "openai/scripted", "messages": messages })), 200)
        }
        ("POST", "/v1/responses") => (path.clone(), Some(json!({ "model": "openai/scripted", "input": "Hello" })), 200),
        ("POST", "/api/transcriptions") => (format!("{path}?language=en"), None, 400),
        ("POST", "/v1/files") => (format!("{path}?name=note.md"), None, 201),
        ("GET" | "DELETE", "/v1/files/{id}") => (nothing, None, 404),
        ("GET", "/api/shared/{token}/files/{file}") => {
            (path.replace("{token}", "unknown").replace("{file}", &people.chat), None, 404)
        }
        ("POST", "/api/keys") => (path.clone(), Some(json!({ "name": "A program", "scopes": ["chat"] })), 201),
        ("DELETE", "/api/keys" | "/api/shares") | ("GET", "/api/account/reauthentication") => (path.clone(), None, 200),
        ("POST", "/api/account/reauthentication") => (path.clone(), Some(json!({ "password": PASSWORD })), 204),
        ("GET", "/api/push") => (path.clone(), None, 200),
        ("POST", "/api/push/subscriptions") => (path.clone(), Some(push_subscription("new")), 201),
        ("DELETE", "/api/push/subscriptions/{id}") => (path.replace("{id}", &people.push_subscription), None, 204),
        ("DELETE", "/api/keys/{id}") => (path.replace("{id}", &people.key), None, 204),

        ("GET", "/api/sessions/{id}/settings") => (chat, None, 200),
        ("PUT", "/api/sessions/{id}/settings") => {
            let settings = json!({
                "system": "Be brief.", "maxTokens": 900, "temperature": 0.5, "topP": 0.9, "effort": "low"
            });
            (chat, Some(settings), 200)
        }
        ("GET", "/api/model-defaults") => (path.clone(), None, 200),
        ("PUT", "/api/model-defaults") => {
            let settings = json!({ "temperature": 0.5 });
            (path.clone(), Some(json!({ "model": "openai/scripted", "settings": settings })), 200)
        }
        ("POST", "/api/model-providers") => {
            let body =
                json!({ "kind": "openai", "name": "Mine", "baseUrl": "http://127.0.0.1:9/v1", "key": "sk-mine" });
            (path.clone(), Some(body), 201)
        }
        ("PATCH", "/api/model-providers/{id}") => {
            let body = json!({ "name": "Ours", "baseUrl": "http://127.0.0.1:9/v2", "key": "sk-ours" });
            (provider, Some(body), 200)
        }
        ("DELETE", "/api/model-providers/{id}") => (provider, None, 204),
        ("POST", "/api/model-providers/{id}/test") => (provider, None, 200),

        ("GET", "/api/sessions/{id}/stream") => (format!("{chat}?after=0"), None, 204),
        ("GET", "/api/sessions/{id}/branches") => (chat, None, 200),
        ("POST", "/api/sessions/{id}/branches") => (chat, Some(json!({ "messageId": people.chat })), 404),
        ("GET", "/api/sessions/{id}/queue") => (chat, None, 200),
        ("POST", "/api/sessions/{id}/queue") => {
            (chat, Some(json!({ "message": "And then?", "sessionId": people.chat, "tools": [] })), 201)
        }
        ("PATCH", "/api/sessions/{id}/queue/{message}") => {
            (chat.replace("{message}", &people.chat), Some(json!({ "message": "Or else?" })), 404)
        }
        ("DELETE", "/api/sessions/{id}/queue/{message}") | ("POST", "/api/sessions/{id}/queue/{message}/send") => {
            (chat.replace("{message}", &people.chat), None, 404)
        }
        ("POST", "/api/sessions/{id}/stop") => (chat, None, 200),
        ("POST", "/api/sessions/{id}/calls/{call}/cancel") => (chat.replace("{call}", "call_1"), None, 200),
        ("PUT", "/api/models/favourites") => {
            (path.clone(), Some(json!({ "model": "openai/scripted", "favourite": true })), 200)
        }
        ("GET", "/api/sessions/{id}/model") => (chat, None, 200),
        ("PUT", "/api/sessions/{id}/model") => (chat, Some(json!({ "model": "openai/scripted" })), 200),
        ("GET", "/api/sessions/{id}/messages/{message}/usage") => {
            (chat.replace("{message}", &people.message), None, 200)
        }
        ("GET", "/api/openapi.json") => (path.clone(), None, 200),
        ("GET", "/api/connections" | "/api/models" | "/api/events" | "/api/google-drive") => (path.clone(), None, 200),
        ("GET", "/api/quotas" | "/api/shared-servers") => (path.clone(), None, 200),
        ("POST", "/api/shared-servers/{id}/connect") => (nothing, None, 404),
        // Switched off in tests.
        ("GET", "/api/registry/servers") => (path.clone(), None, 404),
        ("GET", "/api/connections/{id}") => (connection, None, 200),
        ("PATCH", "/api/connections/{id}") => {
            let body =
                json!({ "name": "kept-connection", "headers": { "X-Absent": null }, "tools": { "calculate": true } });
            (connection, Some(body), 200)
        }
        ("POST", "/api/connections/{id}/refresh" | "/api/connections/{id}/tools") => (connection, None, 200),
        ("PUT", "/api/connections/{id}/permissions") => {
            (connection, Some(json!({ "tools": "read-only", "permission": "ask" })), 200)
        }
        // The example's server is a built-in one, which has only tools.
        ("GET", "/api/connections/{id}/prompts" | "/api/connections/{id}/resources") => (connection, None, 200),
        ("POST", "/api/connections/{id}/resources/read") => (connection, Some(json!({ "uri": "demo://1" })), 422),
        ("POST", "/api/connections/{id}/resources/watch") => (connection, Some(json!({ "uri": "demo://1" })), 200),
        ("DELETE", "/api/connections/{id}/resources/watch") => (format!("{connection}?uri=demo://1"), None, 204),
        ("POST", "/api/connections/{id}/completion") => {
            let body = json!({ "for": { "prompt": "a" }, "name": "b", "value": "c", "filled": { "d": "e" } });
            (connection, Some(body), 200)
        }
        ("POST", "/api/connections/{id}/attachments") => {
            (connection, Some(json!({ "resource": { "uri": "demo://1", "name": "one" } })), 422)
        }
        ("GET", "/api/attachments/{id}") => (nothing, None, 404),
        ("GET", "/api/connections/{id}/icon") => (format!("{connection}?src=https://a.example/i.png"), None, 422),
        // The example's server is a built-in one, which needs no sign-in.
        ("POST", "/api/connections/{id}/sign-in") => (connection, None, 422),
        ("PUT", "/api/connections/{id}/sign-in") => {
            (connection, Some(json!({ "clientId": "abc", "clientSecret": "def" })), 204)
        }
        ("DELETE", "/api/connections/{id}/sign-in") => (connection, None, 204),
        ("GET", "/api/connections/callback") => (format!("{path}?state=x&code=y"), None, 303),
        ("GET", "/oauth/client.json") => (path.clone(), None, 404),
        ("POST", "/api/sessions/{id}/approvals/{approval}") => {
            let path = chat.replace("{approval}", &people.chat);
            (path, Some(json!({ "decision": "deny", "arguments": {} })), 404)
        }
        ("POST", "/api/temporary-chats") => (path.clone(), None, 201),
        ("GET" | "DELETE", "/api/temporary-chats/{id}") => (nothing, None, 404),
        ("POST", "/api/sessions/{id}/restore") => (chat, None, 204),
        ("GET", "/api/sessions/marks" | "/api/shares") => (path.clone(), None, 200),
        ("PUT", "/api/sessions/{id}/marks") => (chat, Some(json!({ "pinned": true, "archived": false })), 200),
        ("GET", "/api/sessions/{id}/export") => (chat, None, 200),
        ("POST", "/api/sessions/{id}/shares") => (chat, Some(json!({ "tools": false })), 200),
        ("DELETE", "/api/shares/{id}") => (path.replace("{id}", &people.share), None, 204),
        ("GET", "/api/shared/{token}") => (path.replace("{token}", "unknown"), None, 404),
        ("GET", "/api/search") => (format!("{path}?q=hello"), None, 200),
        ("POST", "/api/account/import") => {
            (path.clone(), Some(json!({ "format": "ai-chat-mcp-export", "version": 1, "chats": [] })), 200)
        }
        ("POST", "/api/sessions/{id}/elicitations/{elicitation}") => {
            let path = chat.replace("{elicitation}", &people.chat);
            (path, Some(json!({ "action": "accept", "content": {} })), 404)
        }
        ("POST", "/api/tools/run/elicitations/{elicitation}") => {
            let path = path.replace("{elicitation}", &people.chat);
            (path, Some(json!({ "action": "decline", "content": {} })), 404)
        }
        ("GET", "/api/tools/permissions" | "/api/tools/audit") => (path.clone(), None, 200),
        ("PUT", "/api/tools/permissions") => {
            let body = json!({ "connectionId": people.connection, "tool": "calculate", "permission": "ask" });
            (path.clone(), Some(body), 200)
        }
        // The example's server is a built-in one, which has no apps and no resources.
        ("POST", "/api/apps/open") => {
            (path.clone(), Some(json!({ "serverName": "kept-connection", "tool": "calculate" })), 422)
        }
        ("POST", "/api/apps/call") => {
            let body = json!({
                "serverName": "kept-connection", "name": "calculate", "arguments": { "expression": "6*7" },
                "consent": { "decision": "once", "pin": "x" },
            });
            (path.clone(), Some(body), 200)
        }
        ("POST", "/api/apps/read") => {
            (path.clone(), Some(json!({ "serverName": "kept-connection", "uri": "ui://a" })), 422)
        }
        ("GET", "/sandbox/preview") => (path.clone(), None, 200),
        ("GET", "/sandbox/{frame}") => (path.replace("{frame}", "x"), None, 404),
        ("POST", "/api/tools/run") => {
            let arguments = json!({ "expression": "6*7" });
            let body = json!({ "serverName": "kept-connection", "name": "calculate", "arguments": arguments });
            (path.clone(), Some(body), 200)
        }
        ("GET", "/api/account/devices" | "/api/account/events" | "/api/account/export") => (path.clone(), None, 200),
        ("DELETE", "/api/account/devices/{id}") => (path.replace("{id}", &people.device), None, 204),
        ("POST", "/api/account/delete") => (path.clone(), Some(json!({ "email": "a@example.com" })), 422),
        ("DELETE", "/api/google-drive") => (path.clone(), None, 204),
        ("POST", "/api/google-drive/link") => (path.clone(), None, 200),
        ("GET", "/api/google-drive/callback") => (format!("{path}?state=x&code=y"), None, 303),

        ("POST", "/mcp/toolbox" | "/mcp/google-drive") => {
            (path.clone(), Some(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {} })), 200)
        }
        _ => panic!("{method} {path} has no example: add one to the examples of the route table"),
    };
    let mut headers = HeaderMap::new();
    if path.starts_with("/mcp/") {
        headers.insert("accept", HeaderValue::from_static("application/json, text/event-stream"));
        headers.insert("mcp-protocol-version", HeaderValue::from_static("2025-06-18"));
    }
    let raw = (status == 201 && path.starts_with("/v1/files")).then_some("A note.");
    vec![Example { method: method.clone(), path, body, raw, status, headers }]
}

/// Returns an administrator's request about a user whom no other example needs.
fn administration(method: &Method, path: &str, people: &People) -> Example {
    let whole = path
        .replace("{id}", &people.owner.id)
        .replace("{factor}", &people.factor)
        .replace("{passkey}", &people.passkey);
    let email = format!("{}@example.com", domain::ids::fresh().simple());
    let (body, status) = match (method.as_str(), path) {
        (_, path) if path.contains("/oauth/") || path.contains("/custom-providers") => (None, 404),
        ("DELETE", path) if path.contains("/passkeys/") => (None, 204),
        ("POST", path) if path.ends_with("/logout") => (None, 204),
        ("POST", "/auth/v1/admin/users") => (Some(json!({ "email": email })), 200),
        ("POST", "/auth/v1/admin/generate_link") => (Some(json!({ "type": "magiclink", "email": email })), 200),
        // No mail server is configured.
        ("POST", "/auth/v1/invite") => (Some(json!({ "email": email })), 400),
        ("PUT", _) => (Some(json!({ "app_metadata": { "seen": true } })), 200),
        _ => (None, 200),
    };
    let query = if path == "/auth/v1/admin/users" && method == Method::GET { "?page=1&per_page=1" } else { "" };
    Example {
        method: method.clone(),
        path: format!("{whole}{query}"),
        body,
        raw: None,
        status,
        headers: HeaderMap::new(),
    }
}

fn rows(method: &Method, table: &str, people: &People) -> Example {
    let path = format!("/rest/v1/{table}");
    let one = format!("{path}?id=eq.{}", people.row(table));
    let owner = &people.owner.id;
    let new = match table {
        "mcp_servers" => json!({ "user_id": owner, "name": "new", "url": "http://127.0.0.1:9/mcp" }),
        "ai_chat_sessions" => json!({ "user_id": owner, "title": "new" }),
        _ => json!({ "session_id": people.chat, "role": "user", "content": "new" }),
    };
    let change = match table {
        "mcp_servers" => json!({ "status": "changed" }),
        "ai_chat_sessions" => json!({ "title": "changed" }),
        _ => json!({ "content": "changed" }),
    };
    let (path, body, status) = match method.as_str() {
        "GET" => (format!("{path}?select=*"), None, 200),
        "POST" => (path, Some(new), 201),
        "PATCH" => (one, Some(change), 204),
        "DELETE" => (one, None, 204),
        "OPTIONS" => (path, None, 200),
        other => panic!("{other} {path} has no example: add one to the examples of the route table"),
    };
    Example { method: method.clone(), path, body, raw: None, status, headers: HeaderMap::new() }
}
