//! Connections of the fixture 0100, with permissions, credentials and all sealed values.

use domain::permission::{AllowedBy, Permission};
use domain::tool::Outcome;
use serde_json::json;
use storage::Storage;
use uuid::Uuid;

use crate::migrations::{ADA, SERVER, assert_sealed, at};

/// Sealed values as they are stored: table, location, bytes.
const SEALED_VALUES: [(&str, &str, [u8; 2]); 11] = [
    ("signing_keys", "signing_keys/private_key/1", [0x10, 0xff]),
    ("mfa_factors", "mfa_factors/secret/00000000-0000-0000-0000-000000000005", [0x1b, 0xff]),
    ("mcp_servers", "mcp_servers/headers/00000000-0000-0000-0000-000000000001", [0x28, 0xff]),
    (
        "mcp_servers",
        "mcp_servers/url_query/00000000-0000-0000-0000-000000000001/https://mcp.example/?key=***",
        [0x27, 0xff],
    ),
    (
        "server_credentials",
        "server_credentials/secret/00000000-0000-0000-0000-000000000001/00000000-0000-0000-0000-000000000008/\
         https://auth.example",
        [0x36, 0xff],
    ),
    (
        "server_clients",
        "server_clients/secret/00000000-0000-0000-0000-000000000001/00000000-0000-0000-0000-000000000008",
        [0x3a, 0xff],
    ),
    ("credentials", "credentials/secret/00000000-0000-0000-0000-000000000001/google", [0x41, 0xff]),
    ("authorizations", "authorizations/secret/state", [0x44, 0xff]),
    (
        "model_providers",
        "model_providers/secret/00000000-0000-0000-0000-000000000001/00000000-0000-0000-0000-000000000016",
        [0x99, 0xff],
    ),
    ("interactions", "interactions/about/00000000-0000-0000-0000-000000000011", [0x7a, 0xff]),
    ("interactions", "interactions/content/00000000-0000-0000-0000-000000000011", [0x7b, 0xff]),
];

pub async fn check(storage: &Storage) {
    check_server(storage).await;
    check_tool_list(storage).await;
    check_permissions(storage).await;
    check_credentials(storage).await;
    assert_sealed(storage, &SEALED_VALUES).await;
}

async fn check_server(storage: &Storage) {
    let server = storage.connections().get(ADA, SERVER).await.unwrap().unwrap();
    assert_eq!((server.name.as_str(), server.url.as_str()), ("Server", "https://mcp.example/?key=***"));
    assert_eq!((server.url_query, server.headers), (Some(vec![0x27, 0xff]), Some(vec![0x28, 0xff])));
    assert_eq!((server.disabled_tools, server.created_at), (vec!["write".to_owned()], at(29)));
    // Connections from before 0111 are to no shared server.
    assert_eq!(server.shared, None);
    assert_eq!(storage.connections().count(ADA).await.unwrap(), 1);
    assert_eq!(storage.connections().get_tools(ADA, SERVER).await.unwrap(), json!([{ "name": "search" }]));
}

async fn check_tool_list(storage: &Storage) {
    let list = storage.connections().get_tool_list(ADA, SERVER).await.unwrap().unwrap();
    assert_eq!((list.url.as_str(), list.listed_at), ("https://mcp.example/", at(31)));
    assert_eq!(list.tools, json!([{ "name": "search" }]));
    assert_eq!(list.server_info, Some(json!({ "name": "Example" })));
}

async fn check_permissions(storage: &Storage) {
    let rule = storage.permissions().get(ADA, SERVER, "search").await.unwrap().unwrap();
    assert_eq!((rule.permission, rule.url.as_str()), (Permission::Always, "https://mcp.example/"));
    let definition = rule.pin.map(|pin| (pin.hash, pin.text));
    assert_eq!(definition, Some(("00".to_owned(), r#"{"name":"search"}"#.to_owned())));
    let instructions = rule.instructions.map(|pin| (pin.hash, pin.text));
    assert_eq!(instructions, Some(("01".to_owned(), "Search first.".to_owned())));
    let audit = storage.permissions().list_audit(ADA, None, 10).await.unwrap();
    let [entry] = audit.as_slice() else { panic!("{audit:?}") };
    assert_eq!((entry.id, entry.created_at), (Uuid::from_u128(0x12), at(60)));
    assert_eq!((entry.server_name.as_str(), entry.tool.as_str()), ("Server", "search"));
    assert_eq!((entry.allowed_by, entry.outcome), (AllowedBy::Once, Outcome::Done));
}

async fn check_credentials(storage: &Storage) {
    let credentials = storage.server_sign_ins().list_credentials(ADA, SERVER).await.unwrap();
    let credentials: Vec<_> = credentials.into_iter().map(|one| (one.server(), one.issuer, one.secret)).collect();
    assert_eq!(credentials, [(SERVER, "https://auth.example".to_owned(), vec![0x36, 0xff])]);
    assert_eq!(storage.server_sign_ins().get_client(ADA, SERVER).await.unwrap(), Some(vec![0x3a, 0xff]));
    assert_eq!(storage.credentials().get(ADA, "google").await.unwrap(), Some(vec![0x41, 0xff]));
}
