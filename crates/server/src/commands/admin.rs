//! The command `ai-chat-mcp admin`: manages accounts of a running server through the admin part of its auth API,
//! prints the audit log, and manages shared servers and registration tokens.

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use clap::{Args, Subcommand};
use domain::{Clock, SystemClock, UserId};
use platform::config::Config;
use reqwest::{Client, Method, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use url::Url;

use super::audit_export::AuditExport;
use super::confirmation;
use super::http::{cause, check_url, operator_client, server_origin};
use super::quota::QuotaCommand;
use super::registration_tokens::RegistrationTokenAction;
use super::shared_servers::SharedServersAction;

/// Maximum time for a request: an invitation waits for the mail server.
const TIMEOUT: Duration = Duration::from_mins(1);
/// Number of accounts on a page, the maximum of the API.
const PER_PAGE: usize = 1000;
/// Duration of a lock that has no end: a hundred years.
const FOREVER: &str = "876000h";
/// Duration that ends a lock.
const UNLOCKED: &str = "none";

/// Arguments of `ai-chat-mcp admin`.
#[derive(Debug, Args)]
#[command(after_help = "USER is an email address or an id.\n\nExit codes: 0 done, 1 failed, 2 wrong arguments.")]
pub struct AdminCommand {
    /// Origin of the server, such as https://chat.example.com. Default: the address in CHAT_LISTEN.
    #[arg(long, value_name = "URL", global = true)]
    url: Option<Url>,
    #[command(subcommand)]
    action: Action,
}

/// An operation on accounts.
#[derive(Debug, Subcommand)]
enum Action {
    /// List all accounts, newest first.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Print an account as JSON.
    Show { user: String },
    /// Invite a user by email, or by a link that you send yourself.
    Invite {
        email: String,
        /// Send no email, and print the link.
        #[arg(long)]
        link: bool,
    },
    /// End an account's sessions and keep it from signing in.
    Lock {
        user: String,
        /// Unlock the account after this time, such as 24h.
        #[arg(long = "for", value_name = "TIME")]
        time: Option<String>,
    },
    /// Let a locked account sign in again.
    Unlock { user: String },
    /// End all sessions of an account on all nodes. Its user can sign in again.
    SignOut { user: String },
    /// Delete the second factors of an account, whose user has lost them.
    ResetFactors { user: String },
    /// Print the audit log of all accounts or of one, oldest event first. The server may run or not.
    Audit(AuditExport),
    /// Print or change what an account may use of the configured models. The server may run or not.
    Quota(QuotaCommand),
    /// Manage the MCP servers that you offer to users. The server may run or not.
    #[command(subcommand)]
    Servers(SharedServersAction),
    /// Manage the tokens with which users sign up where CHAT_SIGNUPS is invite. The server may run or not.
    #[command(subcommand)]
    RegistrationToken(RegistrationTokenAction),
    /// Delete an account with all of its data.
    Delete {
        user: String,
        /// Do not ask for confirmation.
        #[arg(long)]
        yes: bool,
    },
}

/// Runs an operation.
///
/// # Errors
///
/// The settings are invalid, the server does not answer, or it refuses the operation.
pub fn run(arguments: AdminCommand) -> anyhow::Result<ExitCode> {
    let config = Config::load()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    if let Action::Audit(export) = arguments.action {
        // From the database, whose log may be too large for a response.
        runtime.block_on(export.run(&config, &mut io::stdout().lock()))?;
        return Ok(ExitCode::SUCCESS);
    }
    let printed = match arguments.action {
        Action::Quota(command) => runtime.block_on(command.run(&config))?,
        // In the database, so that no secret passes through a request.
        Action::Servers(action) => runtime.block_on(action.run(&config))?,
        Action::RegistrationToken(action) => runtime.block_on(action.run(&config))?,
        action => runtime.block_on(AdminApi::new(arguments.url, &config)?.run(action))?,
    };
    io::stdout().write_all(printed.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// Client of the admin part of the auth API.
struct AdminApi {
    client: Client,
    base: Url,
    key: SecretString,
}

impl AdminApi {
    fn new(url: Option<Url>, config: &Config) -> anyhow::Result<Self> {
        let key = config.service_role_key.clone().context(
            "CHAT_SERVICE_ROLE_KEY is not set; set it to a secret of at least 32 characters and restart the server",
        )?;
        let origin = url.map_or_else(|| server_origin(config.listen), Ok)?;
        check_url(&origin)?;
        // The key must not reach a proxy.
        let client = operator_client(TIMEOUT, false)?;
        Ok(Self { client, base: origin.join("/auth/v1/")?, key })
    }

    /// Runs an operation, and returns what to print.
    async fn run(&self, action: Action) -> anyhow::Result<String> {
        match action {
            Action::Audit(_) | Action::Quota(_) | Action::Servers(_) | Action::RegistrationToken(_) => {
                bail!("this operation does not use the server")
            }
            Action::List { json: true } => Ok(format!("{:#}\n", Value::from(self.list().await?))),
            Action::List { json: false } => Ok(table(&self.list().await?)),
            Action::Show { user } => Ok(format!("{:#}\n", self.find(&user).await?)),
            Action::Invite { email, link: false } => {
                self.call(Method::POST, "invite", &json!({ "email": email })).await?;
                Ok(format!("Sent an invitation to {email}.\n"))
            }
            Action::Invite { email, link: true } => {
                let body = json!({ "type": "invite", "email": email });
                let made = self.call(Method::POST, "admin/generate_link", &body).await?;
                Ok(format!("{}\n", made["action_link"].as_str().context("the server sent no link")?))
            }
            Action::Lock { user, time } => {
                let locked = self.set_lock(&user, time.as_deref().unwrap_or(FOREVER)).await?;
                Ok(format!("Locked {} until {}.\n", name(&locked), text(&locked, "banned_until")))
            }
            Action::Unlock { user } => Ok(format!("Unlocked {}.\n", name(&self.set_lock(&user, UNLOCKED).await?))),
            Action::SignOut { user } => {
                let found = self.find(&user).await?;
                self.call(Method::POST, &format!("{}/logout", account_path(&found)), &Value::Null).await?;
                Ok(format!("Ended all sessions of {}.\n", name(&found)))
            }
            Action::ResetFactors { user } => self.reset_factors(&user).await,
            Action::Delete { user, yes } => {
                let found = self.find(&user).await?;
                confirm_deletion(&found, yes)?;
                self.call(Method::DELETE, &account_path(&found), &Value::Null).await?;
                Ok(format!("Deleted {}.\n", name(&found)))
            }
        }
    }

    async fn set_lock(&self, user: &str, duration: &str) -> anyhow::Result<Value> {
        let found = self.find(user).await?;
        self.call(Method::PUT, &account_path(&found), &json!({ "ban_duration": duration })).await
    }

    async fn reset_factors(&self, user: &str) -> anyhow::Result<String> {
        let found = self.find(user).await?;
        let path = format!("{}/factors", account_path(&found));
        let factors = self.call(Method::GET, &path, &Value::Null).await?;
        let factors = factors.as_array().map(Vec::as_slice).unwrap_or_default();
        for factor in factors {
            self.call(Method::DELETE, &format!("{path}/{}", text(factor, "id")), &Value::Null).await?;
        }
        Ok(format!("Deleted {} second factors of {}.\n", factors.len(), name(&found)))
    }

    /// Returns all accounts, newest first.
    async fn list(&self) -> anyhow::Result<Vec<Value>> {
        let mut users = Vec::new();
        for page in 1.. {
            let found = self.list_page(page).await?;
            let is_last = found.len() < PER_PAGE;
            users.extend(found);
            if is_last {
                break;
            }
        }
        Ok(users)
    }

    async fn list_page(&self, page: usize) -> anyhow::Result<Vec<Value>> {
        let path = format!("admin/users?page={page}&per_page={PER_PAGE}");
        let answer = self.call(Method::GET, &path, &Value::Null).await?;
        let users = answer.get("users").and_then(Value::as_array);
        users.cloned().context("the server sent no list of accounts")
    }

    /// Returns the account with an email address or an id.
    async fn find(&self, user: &str) -> anyhow::Result<Value> {
        let missing = || format!("there is no account {user}");
        if let Ok(id) = user.parse::<UserId>() {
            return self.call(Method::GET, &format!("admin/users/{id}"), &Value::Null).await.with_context(missing);
        }
        // The API finds accounts by their id only.
        let wanted = user.to_ascii_lowercase();
        for page in 1.. {
            let users = self.list_page(page).await?;
            let is_last = users.len() < PER_PAGE;
            if let Some(found) = users.into_iter().find(|account| text(account, "email") == wanted) {
                return Ok(found);
            }
            if is_last {
                break;
            }
        }
        bail!(missing())
    }

    /// Calls a route. A body that is null is not sent.
    async fn call(&self, method: Method, path: &str, body: &Value) -> anyhow::Result<Value> {
        let url = self.base.join(path)?;
        let mut request = self.client.request(method, url).bearer_auth(self.key.expose_secret());
        if !body.is_null() {
            request = request.json(body);
        }
        let response = request.send().await.map_err(|error| {
            let origin = self.base.origin().ascii_serialization();
            anyhow::anyhow!("the server at {origin} cannot be reached: {}", cause(&error))
        })?;
        let status = response.status();
        let answer: Value = response.json().await.unwrap_or_default();
        if status.is_success() {
            return Ok(answer);
        }
        bail!("{}", refusal(status, &answer));
    }
}

/// Returns why the server refused an operation.
fn refusal(status: StatusCode, answer: &Value) -> String {
    match (text(answer, "error_code"), text(answer, "msg")) {
        ("bad_jwt" | "no_authorization", _) => {
            "the server does not accept CHAT_SERVICE_ROLE_KEY; it was started with another one, or without".to_owned()
        }
        (_, "") => format!("the server answered {status}"),
        (_, message) => format!("the server refused it: {message}"),
    }
}

/// Returns a table of accounts.
fn table(users: &[Value]) -> String {
    let now = SystemClock.now().to_rfc3339();
    let rows: Vec<[&str; 5]> = users
        .iter()
        .map(|user| {
            let state = state(user, &now);
            [name(user), text(user, "id"), day(user, "created_at"), day(user, "last_sign_in_at"), state]
        })
        .collect();
    let width = rows.iter().map(|row| row[0].chars().count()).max().unwrap_or_default().max("email".len());
    let mut table = String::new();
    for [email, id, created, signed_in, state] in [["email", "id", "created", "signed in", "state"]].iter().chain(&rows)
    {
        // Writing to a string cannot fail.
        let _ = writeln!(table, "{email:width$}  {id:36}  {created:10}  {signed_in:10}  {state}");
    }
    table
}

/// Returns the state of an account. `now` has the form of the API's times, which sort by time.
fn state(user: &Value, now: &str) -> &'static str {
    match user {
        _ if text(user, "banned_until") > now => "locked",
        _ if user["is_anonymous"] == true => "anonymous",
        _ if text(user, "email_confirmed_at").is_empty() => "unconfirmed",
        _ => "active",
    }
}

/// Returns the email address of an account, or its id if it has none.
fn name(user: &Value) -> &str {
    match text(user, "email") {
        "" => text(user, "id"),
        email => email,
    }
}

/// Returns the date of a time, or a dash.
fn day<'a>(user: &'a Value, field: &str) -> &'a str {
    text(user, field).get(..10).unwrap_or("-")
}

/// Returns a text, which is empty if it is missing.
fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object[field].as_str().unwrap_or_default()
}

fn account_path(user: &Value) -> String {
    format!("admin/users/{}", text(user, "id"))
}

/// Asks whether to delete an account.
fn confirm_deletion(user: &Value, yes: bool) -> anyhow::Result<()> {
    if yes {
        return Ok(());
    }
    ensure!(io::stdin().is_terminal(), "nothing was deleted: without a terminal to ask for confirmation, pass --yes");
    let question = format!("This deletes {} with all chats, files and connections. Type yes to delete:", name(user));
    ensure!(confirmation::ask(&question)?, "nothing was deleted");
    Ok(())
}
