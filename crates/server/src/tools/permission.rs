//! Whether a tool may run: what its person said, about the definition that they saw.

use aws_lc_rs::digest::{SHA256, digest};
use data_encoding::HEXLOWER;
use domain::permission::{AllowedBy, Permission};
use domain::text::without_nul;
use domain::tool::{Outcome, ToolDefinition};
use domain::{ServerId, UserId};
use serde::Serialize;
use serde_json::{Map, Value};
use store::permissions::{AuditEntry, Pin, Rule};
use url::Url;

use super::origin::host_and_port;
use super::{BoundTool, ConnectionView, Opened, Origin, Tools};
use crate::app::App;

/// Where our own servers are.
const OWN_PATHS: [&str; 2] = ["/mcp/toolbox", "/mcp/google-drive"];
/// In the place of an address, for the tools that stand in for a server: a rule for them is none for the server's own.
const BUILT_IN: &str = "built-in";

/// What a person had allowed for good, as far as the server has changed it since.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Changed {
    /// The definition of the tool.
    pub definition: Option<Value>,
    /// The instructions of the server; empty where it gave none.
    pub instructions: Option<String>,
}

/// Whether a call may be made.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// It may.
    Allowed(AllowedBy),
    /// Its person is to be asked.
    Ask(Changed),
    /// It may not.
    Never,
}

/// What a person allows a tool, as the page shows it.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolPermission {
    /// The connection.
    pub connection_id: ServerId,
    /// Its name.
    pub server_name: String,
    /// The tool.
    pub tool: String,
    /// What it is allowed.
    pub permission: Permission,
    /// Whether the person has not chosen it.
    pub is_default: bool,
    /// Whether the person had allowed it for good and the server changed it since, so that it asks again.
    pub changed: bool,
}

/// A definition in the one form in which it is compared and hashed: fields sorted, what is absent left out. A picture
/// says nothing about what a tool does, and is left out too.
pub fn pin(definition: &ToolDefinition) -> Pin {
    let mut canonical = sorted(serde_json::to_value(definition).unwrap_or_default());
    if let Some(fields) = canonical.as_object_mut() {
        fields.remove("icons");
    }
    pin_of(canonical.to_string())
}

/// The pin of a definition that is in its canonical form already, or of a server's instructions.
pub fn pin_of(text: String) -> Pin {
    let text = without_nul(text);
    Pin { hash: HEXLOWER.encode(digest(&SHA256, text.as_bytes()).as_ref()), text }
}

/// The address that a rule or a question is bound to.
pub fn place(tool: &BoundTool) -> &str {
    if tool.origin == Origin::Fallback { BUILT_IN } else { &tool.server.url }
}

fn sorted(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<(String, Value)> = fields.into_iter().collect();
            fields.sort_by(|a, b| a.0.cmp(&b.0));
            fields.into_iter().map(|(name, value)| (name, sorted(value))).collect::<Map<_, _>>().into()
        }
        Value::Array(items) => items.into_iter().map(sorted).collect::<Vec<_>>().into(),
        other => other,
    }
}

impl BoundTool {
    /// Whether its server describes it, and itself, as it did when the tool was bound.
    pub(super) fn is_still_so(&self, opened: &Opened) -> bool {
        let now = opened.tools.iter().find(|now| now.name == self.definition.name);
        let is_same = now.is_some_and(|now| pin(now).hash == pin(&self.definition).hash);
        is_same && opened.instructions() == *self.instructions
    }
}

impl Tools {
    /// Whether a tool may run unasked. What cannot be looked up is asked.
    pub async fn verdict(&self, app: &App, user: UserId, tool: &BoundTool) -> Verdict {
        self.look_up(app, user, tool).await.unwrap_or_else(|error| {
            tracing::error!(%error, "a permission could not be read; the person is asked");
            Verdict::Ask(Changed::default())
        })
    }

    /// The same, for those whose person has agreed already and who have to know whether they once said never.
    pub async fn look_up(&self, app: &App, user: UserId, tool: &BoundTool) -> Result<Verdict, store::Error> {
        let rule = app.store.get_permission(user, tool.server.id, &tool.definition.name).await?;
        Ok(self.judge(rule.as_ref(), tool))
    }

    fn judge(&self, rule: Option<&Rule>, tool: &BoundTool) -> Verdict {
        let Some(rule) = rule else {
            return match self.default_for(&tool.server.url, tool.origin, &tool.definition) {
                Permission::Always => Verdict::Allowed(AllowedBy::Default),
                _ => Verdict::Ask(Changed::default()),
            };
        };
        match (rule.permission, &rule.pin, &rule.instructions) {
            (Permission::Never, ..) => Verdict::Never,
            (Permission::Always, Some(allowed), Some(heard)) if rule.url == place(tool) => {
                let changed = Changed {
                    definition: (allowed.hash != pin(&tool.definition).hash)
                        .then(|| serde_json::from_str(&allowed.text).unwrap_or_default()),
                    instructions: (heard.hash != pin_of(tool.instructions.to_string()).hash)
                        .then(|| heard.text.clone()),
                };
                if changed == Changed::default() { Verdict::Allowed(AllowedBy::Rule) } else { Verdict::Ask(changed) }
            }
            _ => Verdict::Ask(Changed::default()),
        }
    }

    /// What a tool is allowed as long as its person has not chosen: our own tools that only read run unasked.
    fn default_for(&self, url: &str, origin: Origin, definition: &ToolDefinition) -> Permission {
        let is_ours = origin == Origin::Fallback || self.is_own_server(url);
        let only_reads = definition.annotations.as_ref().and_then(|hints| hints.read_only_hint) == Some(true);
        if is_ours && only_reads { Permission::Always } else { Permission::Ask }
    }

    fn is_own_server(&self, url: &str) -> bool {
        Url::parse(url).is_ok_and(|url| {
            matches!(url.scheme(), "http" | "https")
                && OWN_PATHS.contains(&url.path())
                && self.own.contains(&host_and_port(&url))
        })
    }

    /// The same tool as its server describes it now. Where that cannot be told, it stays as it was.
    pub async fn current(&self, app: &App, user: UserId, tool: &BoundTool) -> BoundTool {
        let mut tool = tool.clone();
        if let Ok(opened) = self.pool.open(app, user, &tool.server).await
            && opened.origin == tool.origin
            && let Some(now) = opened.tools.iter().find(|now| now.name == tool.definition.name)
        {
            tool.definition = now.clone();
            tool.instructions = opened.instructions().into();
        }
        tool
    }

    /// What a person allows each tool that their connections are known to offer.
    pub async fn permissions(&self, app: &App, user: UserId) -> Result<Vec<ToolPermission>, store::Error> {
        let rules = app.store.list_permissions(user).await?;
        let mut all = Vec::new();
        for server in self.servers(app, user).await? {
            let view = self.pool.view(&server, self);
            let instructions = self.pool.instructions(&server);
            all.extend(view.tools.iter().map(|tool| {
                let rule = rules.iter().find(|rule| rule.server == view.id && rule.tool == tool.name);
                self.permission_of(&view, tool, rule, instructions.as_deref())
            }));
        }
        Ok(all)
    }

    /// `instructions` are the server's, where it has been asked.
    fn permission_of(
        &self,
        view: &ConnectionView,
        tool: &ToolDefinition,
        rule: Option<&Rule>,
        instructions: Option<&str>,
    ) -> ToolPermission {
        let place = if view.tools_from == Origin::Fallback { BUILT_IN } else { &view.url };
        let is_good = rule.is_none_or(|rule| {
            let is_same = rule.pin.as_ref().is_some_and(|allowed| allowed.hash == pin(tool).hash);
            let is_told_the_same = instructions.is_none_or(|now| {
                rule.instructions.as_ref().is_some_and(|heard| heard.hash == pin_of(now.to_owned()).hash)
            });
            rule.permission != Permission::Always || (rule.url == place && is_same && is_told_the_same)
        });
        let permission = match rule {
            None => self.default_for(&view.url, view.tools_from, tool),
            Some(rule) if is_good => rule.permission,
            Some(_) => Permission::Ask,
        };
        ToolPermission {
            connection_id: view.id,
            server_name: view.name.clone(),
            tool: tool.name.clone(),
            permission,
            is_default: rule.is_none(),
            changed: !is_good,
        }
    }

    /// Makes a person's rule for a tool, about what the tool is now. `None` when the connection offers no such tool.
    pub async fn allow(
        &self,
        app: &App,
        user: UserId,
        server: &store::servers::Server,
        tool: &str,
        permission: Permission,
    ) -> Result<Option<ToolPermission>, store::Error> {
        // What is allowed is what the server says now. A failure shows in the view.
        drop(self.pool.open(app, user, server).await);
        let view = self.pool.view(server, self);
        let instructions = self.pool.instructions(server);
        let stored = app.store.get_found_tools(user, server.id).await?;
        let stored: Vec<ToolDefinition> = serde_json::from_value(stored).unwrap_or_default();
        let named = |offered: &&ToolDefinition| offered.name == tool;
        // What is to be forbidden need not be there at the moment.
        let stored = stored.iter().find(named).filter(|_| permission != Permission::Always);
        let Some(definition) = view.tools.iter().find(named).or(stored) else { return Ok(None) };
        let place = if view.tools_from == Origin::Fallback { BUILT_IN } else { &view.url };
        let rule = Rule {
            server: server.id,
            tool: tool.to_owned(),
            permission,
            url: place.to_owned(),
            pin: (permission == Permission::Always).then(|| pin(definition)),
            instructions: (permission == Permission::Always).then(|| pin_of(instructions.clone().unwrap_or_default())),
        };
        app.store.insert_permission(user, &rule, app.clock.now()).await?;
        Ok(Some(self.permission_of(&view, definition, Some(&rule), instructions.as_deref())))
    }
}

/// A call on its way into the list of calls. It is written when this is dropped, so that a call that nobody waits for any
/// more stands there too, with the outcome *unknown*.
pub struct Audited {
    app: App,
    owner: UserId,
    entry: AuditEntry,
    /// When this program stops, another one goes on with it.
    goes_on: bool,
}

impl Audited {
    /// For a call that is about to be made, or that will not be.
    pub fn new(app: &App, owner: UserId, server_name: &str, tool: &str, allowed_by: AllowedBy) -> Self {
        let entry = AuditEntry {
            id: domain::ids::fresh(),
            server_name: server_name.to_owned(),
            tool: tool.to_owned(),
            allowed_by,
            outcome: Outcome::Unknown,
            created_at: app.clock.now(),
        };
        Self { app: app.clone(), owner, entry, goes_on: false }
    }

    /// Says that the call outlives this program. Then whoever sees its end writes it down.
    pub fn goes_on(&mut self) {
        self.goes_on = true;
    }

    /// Says what came of it.
    pub fn end(mut self, outcome: Outcome) {
        self.goes_on = false;
        self.entry.outcome = outcome;
    }
}

impl Drop for Audited {
    fn drop(&mut self) {
        if self.goes_on && self.app.tasks.shutdown_token().is_cancelled() {
            return;
        }
        let (app, owner, entry) = (self.app.clone(), self.owner, self.entry.clone());
        self.app.tasks.spawn("audit", async move {
            if let Err(error) = app.store.insert_audit(owner, &entry).await {
                tracing::error!(%error, "a call could not be added to the list of calls");
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn definition(value: Value) -> ToolDefinition {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn every_part_of_a_definition_counts_and_the_order_of_fields_does_not() {
        let base = json!({
            "name": "send", "title": "Send", "description": "Sends.", "annotations": { "readOnlyHint": false },
            "inputSchema": { "type": "object", "properties": { "a": { "type": "string" }, "b": {} } },
            "outputSchema": { "type": "object" }, "_meta": { "ui": { "resourceUri": "ui://a" }, "other": 1 },
        });
        let hash = |value: &Value| pin(&definition(value.clone())).hash;
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
