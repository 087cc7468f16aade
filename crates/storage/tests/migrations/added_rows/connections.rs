//! MCP servers that the operator offers, and a connection to one.

use domain::{ServerId, SharedServerId};
use storage::Storage;
use storage::servers::SharedLink;
use storage::shared_servers::SharedServer;
use uuid::Uuid;

use crate::migrations::{GRACE, assert_sealed, at};

/// Id of the shared server.
const SHARED_SERVER: SharedServerId = SharedServerId(Uuid::from_u128(0x10a));
/// The user's connection to it.
const CONNECTION: ServerId = ServerId(Uuid::from_u128(0x10e));

/// Sealed values as they are stored: table, location, bytes.
const SEALED_VALUES: [(&str, &str, [u8; 2]); 2] = [
    ("shared_servers", "shared_servers/headers/00000000-0000-0000-0000-00000000010a", [0xc2, 0xff]),
    (
        "shared_servers",
        "shared_servers/url_query/00000000-0000-0000-0000-00000000010a/https://shared.example/?key=***",
        [0xc1, 0xff],
    ),
];

pub async fn check(storage: &Storage) {
    let shared = SharedServer {
        id: SHARED_SERVER,
        name: "Shared".to_owned(),
        description: "For the staff".to_owned(),
        url: "https://shared.example/?key=***".to_owned(),
        url_query: Some(vec![0xc1, 0xff]),
        headers: Some(vec![0xc2, 0xff]),
        domains: vec!["example.org".to_owned()],
        groups: vec!["staff".to_owned()],
    };
    assert_eq!(storage.shared_servers().list().await.unwrap(), [shared]);
    let offered = storage.shared_servers().list_offered(GRACE).await.unwrap();
    let offered: Vec<_> = offered.iter().map(|server| (server.id(), server.connection())).collect();
    assert_eq!(offered, [(SHARED_SERVER, Some(CONNECTION))]);
    let connection = storage.connections().get(GRACE, CONNECTION).await.unwrap().unwrap();
    assert_eq!((connection.name.as_str(), connection.created_at), ("Shared", at(128)));
    assert_eq!(connection.shared, Some(SharedLink { id: SHARED_SERVER, is_offered: true }));
    assert_eq!((connection.url_query, connection.headers), (Some(vec![0xc1, 0xff]), Some(vec![0xc2, 0xff])));
    assert_sealed(storage, &SEALED_VALUES).await;
}
