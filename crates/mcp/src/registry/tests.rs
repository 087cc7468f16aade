use serde_json::{Value, json};

use super::*;

fn page(servers: &Value) -> RegistryPage {
    serde_json::from_value::<Page>(json!({"servers": servers, "metadata": {"nextCursor": "next", "count": 1}}))
        .unwrap()
        .into_page()
}

fn entry(name: &str, remotes: &Value) -> Value {
    json!({
        "server": {"name": name, "description": "Forecasts", "version": "1.0.0", "remotes": remotes},
        "_meta": {"io.modelcontextprotocol.registry/official": {"status": "active", "isLatest": true}},
    })
}

fn remote(url: &str) -> Value {
    json!([{"type": "streamable-http", "url": url}])
}

#[test]
fn reads_a_server_with_everything_that_it_asks_for() {
    let listed = page(&json!([{
        "server": {
            "name": "com.example/weather",
            "title": "Weather",
            "description": "Forecasts",
            "version": "1.2.0",
            "websiteUrl": "https://example.com/weather",
            "repository": {"url": "https://git.example.com/weather", "source": "git"},
            "packages": [{"registryType": "npm", "identifier": "weather", "transport": {"type": "stdio"}}],
            "remotes": [{
                "type": "streamable-http",
                "url": "https://{region}.example.com/{version}/mcp",
                "variables": {
                    "region": {"description": "Where", "isRequired": true, "choices": ["eu", "us"], "default": "eu"},
                    "version": {"value": "v2"},
                    "unused": {},
                },
                "headers": [
                    {"name": "Authorization", "isRequired": true, "value": "Bearer {token} {other}",
                     "variables": {"token": {"isRequired": true, "isSecret": true, "placeholder": "sk-…"}}},
                    {"name": "X-Team", "description": "Your team", "format": "string"},
                ],
            }],
        },
        "_meta": {"io.modelcontextprotocol.registry/official": {
            "status": "deprecated", "publishedAt": "2026-01-01T00:00:00Z", "updatedAt": "2026-05-01T10:00:00Z", "isLatest": true,
        }},
    }]));
    let server = serde_json::to_value(&listed.servers[0]).unwrap();
    assert_eq!(
        server,
        json!({
            "name": "com.example/weather",
            "title": "Weather",
            "description": "Forecasts",
            "version": "1.2.0",
            "publisher": {"name": "example.com", "verifiedBy": "domain"},
            "isDeprecated": true,
            "updatedAt": "2026-05-01T10:00:00Z",
            "websiteUrl": "https://example.com/weather",
            "repositoryUrl": "https://git.example.com/weather",
            "remotes": [{
                "transport": "streamable-http",
                "url": "https://{region}.example.com/v2/mcp",
                "isPublisherDomain": true,
                "variables": [{"name": "region", "description": "Where", "isRequired": true, "isSecret": false,
                               "default": "eu", "choices": ["eu", "us"]}],
                "headers": [
                    {"name": "Authorization", "isRequired": true, "isSecret": false, "choices": [],
                     "value": "Bearer {token} {other}",
                     "variables": [{"name": "token", "isRequired": true, "isSecret": true, "placeholder": "sk-…",
                                    "choices": []}]},
                    {"name": "X-Team", "description": "Your team", "isRequired": false, "isSecret": false,
                     "choices": [], "variables": []},
                ],
            }],
        })
    );
    assert_eq!(listed.next_cursor.as_deref(), Some("next"));
}

#[test]
fn leaves_out_what_cannot_be_used() {
    let good = || remote("https://example.com/mcp");
    let mut deleted = entry("com.example/deleted", &good());
    deleted["_meta"]["io.modelcontextprotocol.registry/official"]["status"] = json!("deleted");
    let mut old = entry("com.example/old", &good());
    old["_meta"]["io.modelcontextprotocol.registry/official"]["isLatest"] = json!(false);
    let unusable = [
        deleted,
        old,
        json!(null),
        json!({"server": 5}),
        entry("no-namespace", &good()),
        entry("com.example/<script>", &good()),
        entry("com.example/a/b", &good()),
        entry(&format!("com.example/{}", "a".repeat(200)), &good()),
        entry("com.example/local", &json!([])),
        entry("com.example/local", &json!([{"type": "stdio", "url": "https://example.com/mcp"}])),
        entry("com.example/a", &remote("javascript:alert(1)")),
        entry("com.example/a", &remote("file:///etc/passwd")),
        entry("com.example/a", &remote("https://user:secret@example.com/mcp")),
        entry("com.example/a", &remote("https://{undeclared}.example.com/mcp")),
        entry("com.example/a", &remote(&format!("https://example.com/{}", "a".repeat(3_000)))),
        entry(
            "com.example/a",
            &json!([{"type": "sse", "url": "https://example.com", "headers": [{"name": "Bad Name"}]}]),
        ),
        entry(
            "com.example/a",
            &json!([{"type": "sse", "url": "https://example.com", "headers": [{"name": "X-A", "value": "a\r\nX-B: c"}]}]),
        ),
        entry(
            "com.example/a",
            &json!([{"type": "sse", "url": "https://example.com", "headers": vec![json!({"name": "X-A"}); 500]}]),
        ),
    ];
    for entry in unusable {
        let listed = page(&json!([entry.clone()]));
        assert_eq!(listed.servers, [], "{entry}");
    }
    // An entry that is wrong costs only itself.
    let listed = page(&json!([json!(7), entry("com.example/good", &good())]));
    assert_eq!(listed.servers.len(), 1);
}

#[test]
fn bounds_texts_and_drops_links_with_other_schemes() {
    let mut entry = entry("com.example/long", &remote("https://example.com/mcp"));
    entry["server"]["description"] = json!("ä".repeat(10_000));
    entry["server"]["title"] = json!(" ");
    entry["server"]["websiteUrl"] = json!("javascript:alert(1)");
    entry["server"]["repository"] = json!({"url": "https://user@example.com"});
    let server = &page(&json!([entry])).servers[0];
    assert_eq!(server.description.len(), 1_000);
    assert_eq!((&server.title, &server.website_url, &server.repository_url), (&None, &None, &None));
}

#[test]
fn a_publisher_is_named_only_if_the_registry_has_verified_it() {
    let publisher = |name: &str, url: &str| {
        let server = page(&json!([entry(name, &remote(url))])).servers.remove(0);
        (server.publisher.map(|publisher| publisher.name), server.remotes[0].is_publisher_domain)
    };
    let domain = Some("example.com".to_owned());
    assert_eq!(publisher("com.example/a", "https://example.com/mcp"), (domain.clone(), Some(true)));
    assert_eq!(publisher("com.example/a", "https://mcp.example.com/"), (domain.clone(), Some(true)));
    assert_eq!(publisher("com.example/a", "https://notexample.com/"), (domain.clone(), Some(false)));
    assert_eq!(publisher("com.example/a", "https://example.com.evil.test/"), (domain, Some(false)));
    assert_eq!(publisher("io.github.acme/a", "https://acme.test/"), (Some("acme".to_owned()), None));
    assert_eq!(publisher("example/a", "https://example.com/"), (None, None));
    let mut unverified = entry("com.example/a", &remote("https://example.com/mcp"));
    unverified["_meta"] = json!({});
    let server = page(&json!([unverified])).servers.remove(0);
    assert_eq!((server.publisher, server.remotes[0].is_publisher_domain), (None, None));
}

#[test]
fn a_url_may_begin_with_a_variable() {
    let remotes =
        json!([{"type": "streamable-http", "url": "{baseUrl}/mcp", "variables": {"baseUrl": {"isRequired": true}}}]);
    let server = page(&json!([entry("com.example/own", &remotes)])).servers.remove(0);
    assert_eq!(server.remotes[0].url, "{baseUrl}/mcp");
    assert_eq!(server.remotes[0].is_publisher_domain, Some(false));
}

#[test]
fn a_registry_may_be_below_a_path() {
    let client = |base: &str| RegistryClient::new(base.parse().unwrap()).unwrap();
    let url = client("https://example.com/api/registry/").list_url("file system", Some("a/b:1"));
    assert_eq!(
        url.as_str(),
        "https://example.com/api/registry/v0.1/servers?limit=100&version=latest&search=file+system&cursor=a%2Fb%3A1"
    );
    let url = client("https://example.com").list_url("", None);
    assert_eq!(url.as_str(), "https://example.com/v0.1/servers?limit=100&version=latest");
}
