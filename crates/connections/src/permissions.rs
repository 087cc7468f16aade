//! Permissions of tools. A user's rule applies to the definition that the user saw.

use aws_lc_rs::digest::{SHA256, digest};
use data_encoding::HEXLOWER;
use domain::json::to_json;
use domain::permission::{AllowedBy, Permission};
use domain::text::without_nul;
use domain::tool::ToolDefinition;
use domain::{ServerId, UserId};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use storage::audit_events::AuditEventKind;
use storage::permissions::{Pin, Rule};
use storage::servers::Server;

use super::{BoundTool, ConnectionDto, ConnectionService, OpenedConnection, ToolSource};
use crate::connection_dto::parse_stored_tools;

/// Binding of fallback tools, instead of a URL: a rule for them does not apply to the tools of the server.
const FALLBACK_BINDING: &str = "built-in";

/// The parts of an allowed tool that its server has changed since.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ChangedDefinition {
    /// The allowed definition of the tool.
    pub definition: Option<Value>,
    /// The former instructions of the server; empty if it had none.
    pub instructions: Option<String>,
}

/// Result of a permission check.
#[derive(Debug, Clone, PartialEq)]
pub enum PermissionCheck {
    /// The call may be made.
    Allowed(AllowedBy),
    /// The user must be asked first.
    Ask(ChangedDefinition),
    /// The call may not be made.
    Denied,
}

/// The permission of a tool, for clients.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolPermission {
    /// Connection of the tool.
    pub connection_id: ServerId,
    /// Name of the connection.
    pub server_name: String,
    /// Name of the tool.
    pub tool: String,
    /// The permission that applies.
    pub permission: Permission,
    /// `true` if the user has made no choice.
    pub is_default: bool,
    /// `true` if the user had chosen *always* and the server has changed the tool since, so that the user is asked again.
    pub changed: bool,
}

/// Tools of a connection that one permission is set for.
#[derive(Debug, Clone, Copy)]
pub enum PermissionTarget<'a> {
    /// The tool of this name.
    Named(&'a str),
    /// All tools. *Always* leaves out those that were denied, or have changed since they were allowed.
    All,
    /// The tools that the server describes as read-only, as for [`All`](Self::All).
    ReadOnly,
}

/// Returns the canonical form of a definition and its hash: with sorted fields, and without icons, which say nothing about
/// what a tool does.
pub fn definition_hash(definition: &ToolDefinition) -> Pin {
    let mut canonical = sort_fields(to_json(definition));
    if let Some(fields) = canonical.as_object_mut() {
        fields.remove("icons");
    }
    text_hash(canonical.to_string())
}

/// Returns a canonical definition as JSON. Text that is not JSON is returned as a string, so that the user sees it anyway.
pub fn definition_json(definition: &Pin) -> Value {
    serde_json::from_str(&definition.text).unwrap_or_else(|_| definition.text.as_str().into())
}

/// Returns a canonical definition, or the instructions of a server, with its hash.
pub fn text_hash(text: String) -> Pin {
    // As it is stored: PostgreSQL's text has no NUL, and the hash must be that of the stored text.
    let text = without_nul(text);
    Pin { hash: HEXLOWER.encode(digest(&SHA256, text.as_bytes()).as_ref()), text }
}

/// Returns the URL that rules for a tool and questions about it are bound to.
pub fn binding_url(tool: &BoundTool) -> &str {
    if tool.source == ToolSource::Fallback { FALLBACK_BINDING } else { &tool.server.url }
}

/// Returns the URL that rules for the tools of a connection are bound to.
fn binding_url_of(connection: &ConnectionDto) -> &str {
    if connection.tool_source == ToolSource::Fallback { FALLBACK_BINDING } else { &connection.url }
}

fn sort_fields(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<(String, Value)> = fields.into_iter().collect();
            fields.sort_by(|a, b| a.0.cmp(&b.0));
            fields.into_iter().map(|(name, value)| (name, sort_fields(value))).collect::<Map<_, _>>().into()
        }
        Value::Array(items) => items.into_iter().map(sort_fields).collect::<Vec<_>>().into(),
        other => other,
    }
}

impl BoundTool {
    /// Returns whether tool and instructions are the same as when the tool was bound.
    pub(crate) fn is_unchanged(&self, opened: &OpenedConnection) -> bool {
        let current = opened.tools.iter().find(|tool| tool.name == self.definition.name);
        let is_same = current.is_some_and(|tool| definition_hash(tool).hash == definition_hash(&self.definition).hash);
        is_same && opened.instructions() == *self.instructions
    }
}

impl ConnectionService {
    /// Checks whether a tool may be called. If the permission cannot be read, the user is asked.
    pub async fn check_permission_or_ask(&self, user: UserId, tool: &BoundTool) -> PermissionCheck {
        self.check_permission(user, tool).await.unwrap_or_else(|error| {
            tracing::error!(%error, "could not read a permission; the user is asked");
            PermissionCheck::Ask(ChangedDefinition::default())
        })
    }

    /// Checks whether a tool may be called. For callers whose user has already agreed, and who only need to know whether
    /// the tool is denied, an unreadable permission is an error.
    pub async fn check_permission(&self, user: UserId, tool: &BoundTool) -> Result<PermissionCheck, storage::Error> {
        let rule = self.storage.permissions().get(user, tool.server.id, &tool.definition.name).await?;
        Ok(self.apply_rule(rule.as_ref(), tool))
    }

    fn apply_rule(&self, rule: Option<&Rule>, tool: &BoundTool) -> PermissionCheck {
        let Some(rule) = rule else {
            return match self.default_permission(&tool.server.url, tool.source, &tool.definition) {
                Permission::Always => PermissionCheck::Allowed(AllowedBy::Default),
                _ => PermissionCheck::Ask(ChangedDefinition::default()),
            };
        };
        match (rule.permission, &rule.pin, &rule.instructions) {
            // Whatever the tool has become: a denial is bound to its name alone.
            (Permission::Never, ..) => PermissionCheck::Denied,
            // A connection that leads to another URL now is another server, which the user has not allowed anything.
            (Permission::Always, Some(definition), Some(instructions)) if rule.url == binding_url(tool) => {
                let is_changed = definition.hash != definition_hash(&tool.definition).hash;
                let has_new_instructions = instructions.hash != text_hash(tool.instructions.to_string()).hash;
                let changed = ChangedDefinition {
                    definition: is_changed.then(|| definition_json(definition)),
                    instructions: has_new_instructions.then(|| instructions.text.clone()),
                };
                if changed == ChangedDefinition::default() {
                    PermissionCheck::Allowed(AllowedBy::Rule)
                } else {
                    PermissionCheck::Ask(changed)
                }
            }
            _ => PermissionCheck::Ask(ChangedDefinition::default()),
        }
    }

    /// Returns the permission of a tool without a rule: built-in tools that only read need no approval.
    fn default_permission(&self, url: &str, source: ToolSource, definition: &ToolDefinition) -> Permission {
        // Annotations of the built-in servers only are trusted: "clients MUST consider tool annotations to be
        // untrusted unless they come from trusted servers" (MCP, "Tools").
        let is_builtin = source == ToolSource::Fallback || self.self_urls.is_builtin_server(url);
        if is_builtin && is_read_only(definition) { Permission::Always } else { Permission::Ask }
    }

    /// Returns a tool with its current definition, or unchanged if its server cannot be reached.
    pub async fn refresh_tool(&self, user: UserId, tool: &BoundTool) -> BoundTool {
        let mut tool = tool.clone();
        if let Ok(opened) = self.pool.open(user, &tool.server).await
            // A fallback tool and a server's tool of the same name are different tools.
            && opened.source == tool.source
            && let Some(current) = opened.tools.iter().find(|current| current.name == tool.definition.name)
        {
            tool.definition = current.clone();
            tool.instructions = opened.instructions().into();
        }
        tool
    }

    /// Returns the permission of each known tool of a user's connections.
    pub async fn list_permissions(&self, user: UserId) -> Result<Vec<ToolPermission>, storage::Error> {
        let rules = self.storage.permissions().list(user).await?;
        let mut permissions = Vec::new();
        for server in self.list_servers(user).await? {
            let connection = self.pool.to_dto(&server);
            let instructions = self.pool.instructions(&server);
            permissions.extend(connection.tools.iter().map(|tool| {
                let rule = rules.iter().find(|rule| rule.server == connection.id && rule.tool == tool.name);
                self.permission_of(&connection, tool, rule, instructions.as_deref())
            }));
        }
        Ok(permissions)
    }

    /// Returns the permission of a tool. `instructions` are those of the server, if it was ever connected.
    fn permission_of(
        &self,
        connection: &ConnectionDto,
        tool: &ToolDefinition,
        rule: Option<&Rule>,
        instructions: Option<&str>,
    ) -> ToolPermission {
        let is_valid = rule.is_none_or(|rule| {
            let is_same = rule.pin.as_ref().is_some_and(|allowed| allowed.hash == definition_hash(tool).hash);
            // The instructions of a server that was never connected are unknown, and do not count as changed.
            let has_same_instructions = instructions.is_none_or(|current| {
                rule.instructions.as_ref().is_some_and(|allowed| allowed.hash == text_hash(current.to_owned()).hash)
            });
            rule.permission != Permission::Always
                || (rule.url == binding_url_of(connection) && is_same && has_same_instructions)
        });
        let permission = match rule {
            None => self.default_permission(&connection.url, connection.tool_source, tool),
            Some(rule) if is_valid => rule.permission,
            Some(_) => Permission::Ask,
        };
        ToolPermission {
            connection_id: connection.id,
            server_name: connection.name.clone(),
            tool: tool.name.clone(),
            permission,
            is_default: rule.is_none(),
            changed: !is_valid,
        }
    }

    /// Stores a user's rule for tools of a connection, each with its current definition, and returns their permissions:
    /// none if the connection has no such tool.
    pub async fn set_permissions(
        &self,
        user: UserId,
        server: &Server,
        chosen: PermissionTarget<'_>,
        permission: Permission,
    ) -> Result<Vec<ToolPermission>, storage::Error> {
        // Connects, so that the rule applies to the current definitions. A failure is visible in the connection's state.
        drop(self.pool.open(user, server).await);
        let connection = self.pool.to_dto(server);
        let instructions = self.pool.instructions(server);
        let mut tools = connection.tools.clone();
        let is_always = permission == Permission::Always;
        // Tools can be restricted while their server is unreachable, but not allowed.
        if !is_always {
            let stored = parse_stored_tools(self.storage.connections().get_tools(user, server.id).await?);
            tools.extend(
                stored.into_iter().filter(|tool| connection.tools.iter().all(|listed| listed.name != tool.name)),
            );
        }
        tools.retain(|tool| match chosen {
            PermissionTarget::Named(name) => tool.name == name,
            PermissionTarget::All => true,
            PermissionTarget::ReadOnly => is_read_only(tool),
        });
        // A tool that the user has denied, or whose changes the user has not seen, is not allowed along with others.
        if is_always && !matches!(chosen, PermissionTarget::Named(_)) {
            let rules = self.storage.permissions().list(user).await?;
            tools.retain(|tool| {
                let rule = rules.iter().find(|rule| rule.server == server.id && rule.tool == tool.name);
                let current = self.permission_of(&connection, tool, rule, instructions.as_deref());
                current.permission != Permission::Never && !current.changed
            });
        }
        let pinned_instructions = is_always.then(|| text_hash(instructions.clone().unwrap_or_default()));
        let rules: Vec<Rule> = tools
            .iter()
            .map(|tool| Rule {
                server: server.id,
                tool: tool.name.clone(),
                permission,
                url: binding_url_of(&connection).to_owned(),
                pin: is_always.then(|| definition_hash(tool)),
                instructions: pinned_instructions.clone(),
            })
            .collect();
        let events = if rules.is_empty() { Vec::new() } else { self.audit.by_user(user, event_kind(permission)) };
        self.storage.permissions().insert_with(user, &rules, self.clock.now(), &events).await?;
        let permissions = tools.iter().zip(&rules);
        Ok(permissions
            .map(|(tool, rule)| self.permission_of(&connection, tool, Some(rule), instructions.as_deref()))
            .collect())
    }
}

/// Returns the kind of the audit event about a permission that the user has set.
fn event_kind(permission: Permission) -> AuditEventKind {
    match permission {
        Permission::Always => AuditEventKind::ToolAllowed,
        Permission::Never => AuditEventKind::ToolDenied,
        Permission::Ask => AuditEventKind::ToolPermissionReset,
    }
}

/// Returns whether a server describes a tool as read-only. Unless it is a built-in server, that is only a claim.
fn is_read_only(definition: &ToolDefinition) -> bool {
    definition.annotations.as_ref().and_then(|hints| hints.read_only_hint) == Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn definition(value: Value) -> ToolDefinition {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn hash_covers_all_fields_in_any_order() {
        let base = json!({
            "name": "send", "title": "Send", "description": "Sends.", "annotations": { "readOnlyHint": false },
            "inputSchema": { "type": "object", "properties": { "a": { "type": "string" }, "b": {} } },
            "outputSchema": { "type": "object" }, "_meta": { "ui": { "resourceUri": "ui://a" }, "other": 1 },
        });
        let hash = |value: &Value| definition_hash(&definition(value.clone())).hash;
        let same = json!({
            "inputSchema": { "properties": { "b": {}, "a": { "type": "string" } }, "type": "object" },
            "_meta": { "other": 2, "ui": { "resourceUri": "ui://a" } }, "outputSchema": { "type": "object" },
            "annotations": { "readOnlyHint": false }, "description": "Sends.", "title": "Send", "name": "send",
        });
        assert_eq!(hash(&base), hash(&same));
        for (path, value) in [
            ("/name", json!("sent")),
            ("/title", json!("Send!")),
            ("/description", json!("Sends. Also reads your files.")),
            ("/annotations/readOnlyHint", json!(true)),
            ("/inputSchema/properties/a/type", json!("number")),
            ("/outputSchema/type", json!("array")),
            ("/_meta/ui/resourceUri", json!("ui://b")),
        ] {
            let mut changed = base.clone();
            *changed.pointer_mut(path).unwrap() = value;
            assert_ne!(hash(&base), hash(&changed), "{path}");
        }
    }
}
