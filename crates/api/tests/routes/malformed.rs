//! Ways to make a valid request invalid.

use serde_json::Value;

/// A body in place of the valid one.
pub struct MalformedBody {
    pub name: String,
    pub body: Vec<u8>,
    pub content_type: Option<&'static str>,
    /// Whether every route must reject the body.
    pub is_bad: bool,
    /// Name of the field that has another type than in the valid body.
    pub field: Option<String>,
}

const JSON: Option<&str> = Some("application/json");
/// Levels of nested arrays.
const DEPTH: usize = 10_000;
/// More than any route accepts, in bytes.
const LARGE: usize = 2 * 1024 * 1024 + 1;

/// Returns bodies that are invalid as a whole and, for a valid one, bodies with one invalid field.
pub fn bodies(good: Option<&Value>) -> Vec<MalformedBody> {
    let mut bodies = Vec::new();
    let mut add = |name: &str, body: Vec<u8>, content_type, is_bad| {
        bodies.push(MalformedBody { name: name.to_owned(), body, content_type, is_bad, field: None });
    };
    let deep = |open: &str, close: &str| [open.repeat(DEPTH), "1".into(), close.repeat(DEPTH)].concat().into_bytes();
    add("none", vec![], None, true);
    add("empty", vec![], JSON, true);
    add("blank", b" \r\n\t ".to_vec(), JSON, true);
    for (name, body) in [
        ("null", "null"),
        ("a number", "7"),
        ("a text", "\"a\""),
        ("a list of numbers", "[1,2]"),
        ("true", "true"),
        ("a huge number", "1e400"),
        ("half an object", "{\"a\":"),
        ("half a text", "{\"a\":\"b"),
        ("half an escape", "{\"a\":\"\\u12"),
        ("two objects", "{}{}"),
        ("a comment", "{}//"),
        ("a control character", "{\"a\":\"\u{0}\"}"),
    ] {
        add(name, body.as_bytes().to_vec(), JSON, true);
    }
    add("not UTF-8", b"{\"a\":\"\xff\xfe\"}".to_vec(), JSON, true);
    add("deep lists", deep("[", "]"), JSON, true);
    add("deep objects", deep("{\"a\":", "}"), JSON, false);
    add(LARGE_BODY, [b"{\"a\":\"".as_slice(), &vec![b'a'; LARGE], b"\"}"].concat(), JSON, true);
    add("half a pair", b"{\"a\":\"\\ud800\"}".to_vec(), JSON, false);
    add("an empty object", b"{}".to_vec(), JSON, false);
    let Some(Value::Object(good)) = good else { return bodies };

    let whole = Value::Object(good.clone()).to_string();
    add("cut off", whole.as_bytes()[..whole.len() - 1].to_vec(), JSON, true);
    for content_type in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "\u{7f}"] {
        add(&format!("as {content_type:?}"), whole.clone().into_bytes(), Some(content_type), false);
    }
    add("as nothing", whole.clone().into_bytes(), None, false);
    let more = whole.replacen('{', "{\"unknown\":{\"deep\":[1]},", 1);
    add(UNKNOWN, more.into_bytes(), JSON, false);
    for (field, value) in good {
        let twice = whole.replacen('{', &format!("{{\"{field}\":{value},"), 1);
        add(&format!("{field} twice"), twice.into_bytes(), JSON, false);
        let mut without = good.clone();
        without.remove(field);
        add(&format!("no {field}"), Value::Object(without).to_string().into_bytes(), JSON, false);
    }
    for (field, value) in good {
        let long = format!("\"{}\"", "x".repeat(100_000));
        for (kind, other) in [
            ("null", "null"),
            ("number", "7"),
            ("number", "-1"),
            ("number", "1e400"),
            ("number", "123456789012345678901234567890"),
            ("number", "0.1e-999"),
            ("text", "\"a\\u0000b\""),
            ("text", "\"\""),
            ("text", "\"\\u202e\\ufeff\\ud83d\\ude00\""),
            ("text", &long),
            ("list", "[7]"),
            ("list", "[[[[[[{}]]]]]]"),
            ("object", "{\"a\\u0000\":{\"b\":7}}"),
            ("truth", "true"),
        ] {
            // The valid body has each field once.
            let good_pair = format!("\"{field}\":{value}");
            let body = whole.replacen(&good_pair, &format!("\"{field}\":{other}"), 1);
            let differs = kind != "null" && kind != self::kind(value);
            bodies.push(MalformedBody {
                name: format!("{field} as {other:.30}"),
                body: body.into_bytes(),
                content_type: JSON,
                is_bad: false,
                field: differs.then(|| field.clone()),
            });
        }
    }
    bodies
}

/// Name of the body of which the server may leave a part unread.
pub const LARGE_BODY: &str = "a large one";
/// Name of the body with an unknown field.
pub const UNKNOWN: &str = "an unknown field";

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "truth",
        Value::Number(_) => "number",
        Value::String(_) => "text",
        Value::Array(_) => "list",
        Value::Object(_) => "object",
    }
}

/// Returns path parameters that name nothing.
pub fn names() -> Vec<String> {
    let mut names: Vec<String> = [
        "%00",
        "%ff%fe",
        "%F0%9F%98%80",
        "..%2f..%2fetc%2fpasswd",
        "%zz",
        "%",
        "a%0d%0aset-cookie:%20a=b",
        "'%20or%201=1--",
        "-1",
        "{id}",
        "0x7fffffffffffffff",
        "123456789012345678901234567890",
        "00000000-0000-0000-0000-000000000000",
        "ffffffff-ffff-ffff-ffff-ffffffffffff",
        "%20",
    ]
    .map(str::to_owned)
    .into();
    names.push("x".repeat(5_000));
    names
}

/// Returns queries that no route accepts or reads.
pub fn queries() -> Vec<String> {
    let mut queries: Vec<String> = [
        "%00=%00",
        "%ff=%ff",
        "a=1&a=2",
        "&&&=&=",
        "%zz=%",
        "after=-1",
        "after=99999999999999999999999",
        "after=1&after=2",
        "state=%00&code=%ff&error=%00",
        "state=a&state=b",
        "select=%00",
        "select=*&limit=99999999999999999999",
        "limit=1e3&offset=-1",
        "order=id.%00",
        "id=eq.%00",
        "id=eq.a%00b&user_id=in.(%22",
        "title=like.%00&name=ilike.%ff",
        "created_at=gt.99999999999-99-99",
        "created_at=lt.infinity",
        "or=((((((((((((((((((((((",
        "or=(id.eq.1",
        "grant_type=%00",
        "grant_type=password&grant_type=refresh_token",
        "scope=%ff",
        "page=-1&per_page=99999999999999999999",
        "page=%00&per_page=%ff",
        "type=%00&token=%00&redirect_to=%00",
        "redirect_to=javascript:alert(1)",
        "columns=%00,%ff&on_conflict=%00",
    ]
    .map(str::to_owned)
    .into();
    queries.push(format!("q={}", "x".repeat(50_000)));
    queries.push(vec!["a=b"; 5_000].join("&"));
    queries.push(format!("or={}id.eq.1{}", "(and(".repeat(500), "))".repeat(500)));
    queries
}

/// Returns headers that are invalid, too long or contradictory.
pub fn headers() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("accept", b"\xff\xfe".to_vec()),
        ("accept", b"text/html;q=x, application/vnd.pgrst.object+json; nulls=stripped".to_vec()),
        ("accept", b"text/csv".to_vec()),
        ("accept-profile", b"secret".to_vec()),
        ("content-profile", b"\xff".to_vec()),
        ("authorization", b"Bearer \xff\xfe".to_vec()),
        ("authorization", b"Bearer".to_vec()),
        ("authorization", b"Basic YTpi".to_vec()),
        ("authorization", [b"Bearer ".as_slice(), &[b'a'; 30_000]].concat()),
        ("prefer", b"\xff".to_vec()),
        ("prefer", b"return=everything, count=none, max-affected=-1, handling=strict".to_vec()),
        ("range", b"9999999999999999999999-1".to_vec()),
        ("range", b"\xff".to_vec()),
        ("last-event-id", b"\xff".to_vec()),
        ("last-event-id", b"-99999999999999999999999".to_vec()),
        ("cookie", b"google-drive-link=\xff; =; ;;;".to_vec()),
        ("origin", b"\xff".to_vec()),
        ("host", b"\xff".to_vec()),
        ("host", b"a b".to_vec()),
        ("x-forwarded-for", b"\xff, 999.999.999.999, ,,,".to_vec()),
        ("user-agent", vec![0xff; 5_000]),
        ("x-supabase-api-version", b"\xff".to_vec()),
        ("mcp-protocol-version", b"\xff".to_vec()),
        ("mcp-session-id", b"\xff".to_vec()),
        ("if-none-match", b"\xff".to_vec()),
        ("x-long", vec![b'x'; 30_000]),
    ]
}
