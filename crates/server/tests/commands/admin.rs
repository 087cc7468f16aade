//! The command `admin`.

use reqwest::StatusCode;
use serde_json::{Value, json};
use testkit::{Person, ScriptedModel, StatefulMcp, databases, http_client};

use crate::program::{Program, run};

const KEY: (&str, &str) = ("CHAT_SERVICE_ROLE_KEY", "a service role key that nobody guesses");

/// Runs an operation on the server, and returns what it prints.
fn admin(program: &Program, arguments: &[&str]) -> Result<String, String> {
    let all = [&["admin", "--url", &program.url], arguments].concat();
    let (code, out, error) = run(program.folder.path(), &[KEY], &all);
    if code == 0 { Ok(out) } else { Err(error) }
}

async fn sign_in(program: &Program, email: &str) -> StatusCode {
    let url = format!("{}/auth/v1/token?grant_type=password", program.url);
    let body = json!({ "email": email, "password": "correct horse" });
    http_client().post(url).json(&body).send().await.unwrap().status()
}

#[tokio::test(flavor = "multi_thread")]
async fn accounts_are_listed_locked_unlocked_and_deleted() {
    for database in databases() {
        let model = ScriptedModel::start([]).await;
        let folder = tempfile::TempDir::new().unwrap();
        let url = database.create(&folder);
        let program = Program::start_in(folder, &model.base_url, &[("DATABASE_URL", &url), KEY]);
        program.until_ready(200).await;
        let person = Person::sign_up_at(&program.url, &http_client()).await;
        let other = Person::sign_up_at(&program.url, &http_client()).await;

        let list = admin(&program, &["list"]).unwrap();
        let line = |list: &str, email: &str| list.lines().find(|line| line.contains(email)).unwrap().to_owned();
        assert!(
            line(&list, &person.email).contains(&person.id) && line(&list, &person.email).ends_with("active"),
            "{list}"
        );
        let all: Value = serde_json::from_str(&admin(&program, &["list", "--json"]).unwrap()).unwrap();
        assert_eq!(all.as_array().unwrap().len(), 2);
        let shown: Value = serde_json::from_str(&admin(&program, &["show", &person.id]).unwrap()).unwrap();
        assert_eq!(shown["email"], json!(person.email));

        assert_eq!(
            admin(&program, &["lock", "nobody@example.com"]).unwrap_err(),
            "ai-chat-mcp: there is no account nobody@example.com\n"
        );
        admin(&program, &["lock", &person.email.to_uppercase(), "--for", "24h"]).unwrap();
        assert!(line(&admin(&program, &["list"]).unwrap(), &person.email).ends_with("locked"));
        assert_eq!(sign_in(&program, &person.email).await, 400);
        admin(&program, &["unlock", &person.id]).unwrap();
        assert_eq!(sign_in(&program, &person.email).await, 200);
        assert!(admin(&program, &["reset-factors", &person.email]).unwrap().starts_with("Deleted 0 second factors"));

        let fresh = Person::sign_up_at(&program.url, &http_client()).await;
        let key = json!({ "factor_type": "webauthn", "friendly_name": "key" });
        assert_eq!(fresh.post("/auth/v1/factors", &key).await.0, 200);
        assert!(admin(&program, &["reset-factors", &fresh.email]).unwrap().starts_with("Deleted 1 second factors"));
        let user_url = format!("{}/auth/v1/user", program.url);
        let status = async || http_client().get(&user_url).bearer_auth(&fresh.token).send().await.unwrap().status();
        assert_eq!(status().await, 200);
        admin(&program, &["sign-out", &fresh.id]).unwrap();
        assert_eq!(status().await, 403);
        assert_eq!(sign_in(&program, &fresh.email).await, 200);
        let unknown = admin(&program, &["show", "0193b3a4-0000-7000-8000-000000000000"]).unwrap_err();
        assert!(unknown.contains("there is no account 0193b3a4-0000-7000-8000-000000000000"), "{unknown}");

        let refused = admin(&program, &["delete", &person.email]).unwrap_err();
        assert!(refused.contains("--yes"), "{refused}");
        admin(&program, &["delete", &person.email, "--yes"]).unwrap();
        assert_eq!(sign_in(&program, &person.email).await, 400);
        assert_eq!(sign_in(&program, &other.email).await, 200, "others are not affected");

        // Neither the server nor its key is needed.
        let audit = |arguments: &[&str]| {
            let all = [&["admin", "audit"], arguments].concat();
            let (code, out, error) = run(program.folder.path(), &[("DATABASE_URL", &url)], &all);
            if code == 0 { Ok(out) } else { Err(error) }
        };
        let kinds = |out: &str| -> Vec<String> {
            let lines = out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
            lines.map(|event| event["kind"].as_str().unwrap().to_owned()).collect()
        };
        let own = audit(&["--json-lines", "--user", &person.id]).unwrap();
        let expected = "account_created sign_in account_locked sign_in_failed account_unlocked sign_in account_deleted";
        assert_eq!(kinds(&own).join(" "), expected);
        let theirs = audit(&["--json-lines", "--user", &other.email, "--since", "1h"]).unwrap();
        assert_eq!(kinds(&theirs).join(" "), "account_created sign_in sign_in");
        assert_eq!(audit(&["--since", "2100-01-01T00:00:00Z"]).unwrap(), "");
        assert!(audit(&[]).unwrap().contains("  admin   account_deleted   "), "a table");
        assert_eq!(
            audit(&["--user", &person.email]).unwrap_err(),
            format!("ai-chat-mcp: there is no account {}\n", person.email)
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn invitations_are_links_without_a_mail_server() {
    let model = ScriptedModel::start([]).await;
    let program = Program::start(&model.base_url, &[KEY, ("CHAT_SIGNUPS", "invite")]);
    program.until_ready(200).await;
    let link = admin(&program, &["invite", "ann@example.com", "--link"]).unwrap();
    // What counts is that it was followed; the page behind it can be missing in a test binary.
    http_client().get(link.trim()).send().await.unwrap();
    let shown: Value = serde_json::from_str(&admin(&program, &["show", "ann@example.com"]).unwrap()).unwrap();
    assert!(shown["email_confirmed_at"].is_string(), "{shown}");
    let unsent = admin(&program, &["invite", "bob@example.com"]).unwrap_err();
    assert!(unsent.starts_with("ai-chat-mcp: the server refused it: "), "{unsent}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_or_wrong_key_is_named() {
    let model = ScriptedModel::start([]).await;
    let program = Program::start(&model.base_url, &[]);
    program.until_ready(200).await;
    let refused = admin(&program, &["list"]).unwrap_err();
    assert!(refused.contains("does not accept CHAT_SERVICE_ROLE_KEY"), "{refused}");
    let (code, _, error) = run(program.folder.path(), &[], &["admin", "list"]);
    assert!(code == 1 && error.contains("CHAT_SERVICE_ROLE_KEY is not set"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_are_offered_replaced_and_withdrawn_while_the_server_runs() {
    for database in databases() {
        let model = ScriptedModel::start([]).await;
        let mcp = StatefulMcp::start([json!({ "name": "send" })]).await;
        let folder = tempfile::TempDir::new().unwrap();
        let url = database.create(&folder);
        let program = Program::start_in(folder, &model.base_url, &[("DATABASE_URL", &url)]);
        program.until_ready(200).await;
        let person = Person::sign_up_at(&program.url, &http_client()).await;
        let servers = |arguments: &[&str]| {
            let all = [&["admin", "servers"], arguments].concat();
            let (code, out, error) = run(program.folder.path(), &[("DATABASE_URL", &url)], &all);
            if code == 0 { Ok(out) } else { Err(error) }
        };
        let headers = program.folder.path().join("headers");
        std::fs::write(&headers, "Authorization: Bearer s3cret\n").unwrap();
        let headers = headers.to_str().unwrap();
        assert_eq!(servers(&["offer", "post", &mcp.url, "--headers", headers]).unwrap(), "Offered post.\n");

        let offered = person.get("/api/shared-servers").await;
        let path = format!("/api/shared-servers/{}/connect", offered["servers"][0]["id"].as_str().unwrap());
        let (status, connection) = person.post(&path, &Value::Null).await;
        assert_eq!((status.as_u16(), &connection["status"]), (200, &json!("connected")), "{connection}");
        assert_eq!(mcp.header("authorization").as_deref(), Some("Bearer s3cret"));

        let to_domain = ["offer", "post", &mcp.url, "--domain", "Example.ORG", "--description", "Letters."];
        let unproven = servers(&to_domain).unwrap_err();
        assert!(unproven.starts_with("ai-chat-mcp: domains need proven addresses; set CHAT_AUTOCONFIRM"), "{unproven}");
        let settings = [("DATABASE_URL", url.as_str()), ("CHAT_AUTOCONFIRM", "off")];
        let (code, _, error) = run(program.folder.path(), &settings, &[&["admin", "servers"], &to_domain[..]].concat());
        assert_eq!(code, 0, "{error}");
        let list: Value = serde_json::from_str(&servers(&["list", "--json"]).unwrap()).unwrap();
        let expected = json!({ "id": offered["servers"][0]["id"], "name": "post", "description": "Letters.",
            "url": mcp.url, "hasHeaders": false, "domains": ["example.org"], "groups": [] });
        assert_eq!(list, json!([expected]));
        assert!(servers(&["list"]).unwrap().ends_with("  no       example.org\n"));
        let no_claim = servers(&["offer", "post", &mcp.url, "--group", "staff"]).unwrap_err();
        assert_eq!(no_claim, "ai-chat-mcp: groups need CHAT_OIDC_GROUPS_CLAIM\n");
        let missing = servers(&["withdraw", "mail"]).unwrap_err();
        assert_eq!(missing, "ai-chat-mcp: there is no shared server mail\n");
        servers(&["withdraw", "post"]).unwrap();
        assert_eq!(person.get("/api/connections").await["connections"], json!([]));
        let (_, audit, _) = run(program.folder.path(), &[("DATABASE_URL", &url)], &["admin", "audit", "--json-lines"]);
        let kinds: Vec<String> = audit
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap()["kind"].as_str().unwrap().into())
            .collect();
        let expected = "account_created sign_in shared_server_offered connection_created shared_server_offered \
                        shared_server_withdrawn connection_deleted";
        assert_eq!(kinds.join(" "), expected);
        let refused = servers(&["offer", "post", "example.com"]).unwrap_err();
        assert_eq!(refused, "ai-chat-mcp: the URL is not valid\n");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn quotas_of_an_account_are_printed_and_changed() {
    let model = ScriptedModel::start([]).await;
    let settings = [("CHAT_TOKENS_PER_DAY", "5000"), ("CHAT_COST_PER_MONTH", "10")];
    let program = Program::start(&model.base_url, &settings);
    program.until_ready(200).await;
    let person = Person::sign_up_at(&program.url, &http_client()).await;
    let quota = |arguments: &[&str]| {
        let all = [&["admin", "quota"], arguments].concat();
        let (code, out, error) = run(program.folder.path(), &settings, &all);
        if code == 0 { Ok(out) } else { Err(error) }
    };
    let first = quota(&[&person.email]).unwrap();
    assert!(first.contains("tokens per day              5000  settings\n"), "{first}");
    assert!(first.contains("tokens per month        no limit  settings\n"), "{first}");
    let changed =
        quota(&[&person.id, "--tokens-per-day", "none", "--cost-per-day", "1.25", "--cost-per-month", "0.50"]).unwrap();
    assert!(changed.contains("tokens per day          no limit  exception\n"), "{changed}");
    assert!(changed.contains("cost per day               $1.25  exception\n"), "{changed}");
    let quotas = person.get("/api/quotas").await;
    let limits: Vec<_> =
        quotas["quotas"].as_array().unwrap().iter().map(|quota| (&quota["kind"], &quota["limit"])).collect();
    assert_eq!(limits[..2], [(&json!("costPerDay"), &json!(1.25)), (&json!("costPerMonth"), &json!(0.5))]);
    let back = quota(&[&person.id, "--cost-per-month", "default"]).unwrap();
    assert!(back.contains("cost per month            $10.00  settings\n"), "{back}");
    let changed = quota(&[&person.id, "--turns-per-hour", "20", "--files-mib", "5", "--connections", "7"]).unwrap();
    assert!(changed.contains("turns per hour                20  exception\n"), "{changed}");
    assert!(changed.contains("stored files               5 MiB  exception\n"), "{changed}");
    assert!(changed.contains("connections                    7  exception\n"), "{changed}");
    let audit = ["admin", "audit", "--user", person.id.as_str(), "--json-lines"];
    let (_, log, _) = run(program.folder.path(), &settings, &audit);
    let changes = log.lines().filter(|line| line.contains(r#""quota_changed""#) && line.contains(r#""admin""#));
    assert_eq!(changes.count(), 3, "{log}");
    let missing = "0193b3a4-0000-7000-8000-000000000000";
    assert_eq!(
        quota(&[missing, "--cost-per-day", "1"]).unwrap_err(),
        format!("ai-chat-mcp: there is no account {missing}\n")
    );
    assert!(
        quota(&[&person.id, "--tokens-per-day", "many"]).unwrap_err().contains("neither a limit nor none nor default")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn registration_tokens_are_created_listed_and_revoked_while_the_server_runs() {
    for database in databases() {
        let model = ScriptedModel::start([]).await;
        let folder = tempfile::TempDir::new().unwrap();
        let url = database.create(&folder);
        let settings =
            [("DATABASE_URL", url.as_str()), ("CHAT_SIGNUPS", "invite"), ("CHAT_SITE_URL", "https://chat.example")];
        let program = Program::start_in(folder, &model.base_url, &settings);
        program.until_ready(200).await;
        let tokens = |arguments: &[&str]| {
            let all = [&["admin", "registration-token"], arguments].concat();
            run(program.folder.path(), &settings, &all)
        };
        let json_of = |arguments: &[&str]| -> Value { serde_json::from_str(&tokens(arguments).1).unwrap() };
        let sign_up = async |email: &str, token: &str| {
            let data = json!({ "registration_token": token });
            let body = json!({ "email": email, "password": "correct horse", "data": data });
            let response = http_client().post(format!("{}/auth/v1/signup", program.url)).json(&body).send().await;
            response.unwrap().status().as_u16()
        };

        let (code, printed, _) = tokens(&["create"]);
        let token = printed.lines().nth(1).unwrap().strip_prefix("token  ").unwrap();
        let link = format!("link   https://chat.example/auth#registration_token={token}");
        assert!(code == 0 && printed.lines().any(|line| line == link), "{printed}");
        assert!(printed.contains("It can be used once, until "), "{printed}");
        assert_eq!((sign_up("ann@example.com", token).await, sign_up("bob@example.com", token).await), (200, 422));

        let expiry = ["--expires", "2100-12-31", "--domain", "Example.org", "--note", "Team A", "--uses", "5"];
        let made = json_of(&[&["create", "--json"], expiry.as_slice()].concat());
        let list = json_of(&["list", "--json"]);
        let mut shown = list[0].clone();
        assert!(!list.to_string().contains(made["token"].as_str().unwrap()));
        shown["token"] = made["token"].clone();
        shown["link"] = made["link"].clone();
        assert_eq!(shown, made);
        let expected = json!(["valid", "Team A", "example.org", 5, 0, "2101-01-01T00:00:00.000000Z", null]);
        let fields = ["state", "note", "domain", "maxUses", "uses", "expiresAt", "revokedAt"].map(|name| &shown[name]);
        assert_eq!(json!(fields), expected);
        assert_eq!(sign_up("eve@example.com", made["token"].as_str().unwrap()).await, 400);

        let table = tokens(&["list"]).1;
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines.len(), 3, "{table}");
        assert!(lines[1].contains("  valid    0/5   ") && lines[1].ends_with("  example.org  Team A"), "{table}");
        assert!(lines[2].contains("  used-up  1/1   ") && lines[2].ends_with("  any"), "{table}");

        let id = made["id"].as_str().unwrap();
        assert_eq!(tokens(&["revoke", id]), (0, format!("Revoked {id}.\n"), String::new()));
        assert!(tokens(&["list"]).1.contains("  revoked  0/5   "));
        assert_eq!(sign_up("ann@example.org", made["token"].as_str().unwrap()).await, 422);
        let again = format!("ai-chat-mcp: there is no registration token {id} that was not revoked\n");
        assert_eq!(tokens(&["revoke", id]), (1, String::new(), again));

        for wrong in [["--uses", "0"], ["--expires-in", "1w"], ["--expires", "soon"], ["--domain", "a@b"]] {
            assert_eq!(tokens(&["create", wrong[0], wrong[1]]).0, 2, "{wrong:?}");
        }
        assert_eq!(tokens(&["create", "--expires", "2100-12-31", "--expires-in", "7d"]).0, 2, "one or the other");
        assert_eq!(
            tokens(&["create", "--expires", "2020-01-01"]).2,
            "ai-chat-mcp: the token would have expired already\n"
        );
        let open = [settings[0], ("CHAT_SIGNUPS", "open")];
        let (code, _, error) = run(program.folder.path(), &open, &["admin", "registration-token", "create"]);
        assert_eq!((code, error.as_str()), (1, "ai-chat-mcp: registration tokens need CHAT_SIGNUPS=invite\n"));

        let (_, audit, _) = run(program.folder.path(), &settings, &["admin", "audit", "--json-lines"]);
        let events: Vec<Value> = audit.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let of_token = events.iter().filter(|event| event["registration_token_id"] == *id);
        let kinds: Vec<&str> = of_token.map(|event| event["kind"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["registration_token_created", "registration_token_revoked"]);
        assert!(events.iter().all(|event| !event.to_string().contains(token)));
        let created = events.iter().find(|event| event["kind"] == "account_created").unwrap();
        assert!(created["registration_token_id"].is_string(), "{created}");
        let (_, text, _) = run(program.folder.path(), &settings, &["admin", "audit"]);
        assert!(text.contains(&format!("  registration token {id}\n")), "{text}");
    }
}
