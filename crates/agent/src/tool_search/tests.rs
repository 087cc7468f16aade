use std::sync::Arc;

use connections::OpenedConnection;
use domain::ServerId;
use domain::model::ModelCall;
use domain::tool::ToolDefinition;
use proptest::prelude::*;
use storage::servers::Server;

use super::*;
use crate::tool_selection::{RequestedTool, ToolSelection};

const ROOMY: ToolLimits = ToolLimits { context_tokens: 32_000, can_search: true };

/// The tools of these connections, as a turn has them.
fn toolset(servers: &[(&str, Vec<ToolDefinition>)]) -> Toolset {
    let rows: Vec<Server> = servers.iter().map(|(name, _)| server(name)).collect();
    let wanted: Vec<RequestedTool> = servers
        .iter()
        .flat_map(|(server, tools)| tools.iter().map(|tool| (tool.name.clone(), (*server).to_owned())))
        .map(|(name, server_name)| RequestedTool { name, server_name: Some(server_name) })
        .collect();
    let selection = ToolSelection::resolve(&wanted, &rows, |_| Vec::new()).unwrap();
    let opened = rows.iter().zip(servers).map(|(row, (_, tools))| {
        let tools = Arc::new(tools.clone());
        (row.clone(), Ok(OpenedConnection::of_known_tools(tools)))
    });
    Toolset::bind(&selection, opened.collect())
}

fn server(name: &str) -> Server {
    Server {
        id: ServerId::fresh(),
        name: name.into(),
        url: String::new(),
        url_query: None,
        headers: None,
        disabled_tools: vec![],
        created_at: domain::Timestamp(0),
        shared: None,
    }
}

fn tool(name: &str, description: &str) -> ToolDefinition {
    serde_json::from_value(json!({ "name": name, "description": description })).unwrap()
}

/// So many tools that they are not listed, with some that are told apart in the middle.
fn many(count: usize) -> Toolset {
    let mut tools: Vec<ToolDefinition> =
        (0..count).map(|number| tool(&format!("widget_{number}"), &"Turns a widget. ".repeat(8))).collect();
    tools.insert(count / 2, tool("create_issue", "Opens a new ticket in the tracker."));
    tools.insert(count / 3, tool("listFiles", "Shows what is in a folder."));
    toolset(&[("factory", tools), ("desk", vec![tool("search_tools", "Somebody else's search.")])])
}

fn names(presentation: &ToolPresentation, toolset: &Toolset) -> Vec<String> {
    presentation.specs(toolset).into_iter().map(|spec| spec.name).collect()
}

fn call(presentation: &ToolPresentation, toolset: &Toolset, name: &str, arguments: Value) -> String {
    presentation.call(toolset, name, arguments.as_object().unwrap().clone()).unwrap().to_model_text()
}

fn search_names(toolset: &Toolset, query: &str) -> Vec<String> {
    let found = search::search(toolset.tools(), query, None);
    found.into_iter().map(|index| toolset.tools()[index].model_name.clone()).collect()
}

#[test]
fn a_list_that_fits_is_given_whole() {
    let toolset = many(20);
    for context in [4_096, 8_192, 1_000_000] {
        let presentation =
            ToolPresentation::new(&toolset, ToolLimits { context_tokens: context, ..ROOMY }, "hello", &[]);
        assert_eq!(names(&presentation, &toolset).len(), toolset.tools().len(), "{context}");
        assert!(presentation.call(&toolset, SEARCH_TOOL, Map::new()).is_none(), "there is nothing to search");
    }
}

#[test]
fn what_is_long_depends_on_what_the_model_reads() {
    let toolset = many(300);
    let is_whole = |context| {
        matches!(
            ToolPresentation::new(&toolset, ToolLimits { context_tokens: context, ..ROOMY }, "", &[]),
            ToolPresentation::All
        )
    };
    assert!(!is_whole(16_000));
    assert!(is_whole(128_000));
}

#[test]
fn what_is_found_joins_the_list_behind_what_was_there() {
    let toolset = many(1_000);
    let presentation = ToolPresentation::new(&toolset, ROOMY, "please", &[]);
    let before = presentation.specs(&toolset);
    assert_eq!(names(&presentation, &toolset), [SEARCH_TOOL, DETAILS_TOOL]);
    assert!(before[0].description.contains("1003 tools of these connections: factory (1002), desk (1)"), "{before:?}");

    let said = call(&presentation, &toolset, SEARCH_TOOL, json!({ "query": "ticket new" }));
    assert!(said.contains("- create_issue (factory): Opens a new ticket in the tracker."), "{said}");
    assert_eq!(names(&presentation, &toolset), [SEARCH_TOOL, DETAILS_TOOL, "create_issue"]);
    let said =
        call(&presentation, &toolset, DETAILS_TOOL, json!({ "names": ["listFiles", "nothing", "create_issue"] }));
    assert!(said.contains(r#""inputSchema":{"type":"object"}"#) && said.contains("There is no such tool."), "{said}");
    assert_eq!(names(&presentation, &toolset), [SEARCH_TOOL, DETAILS_TOOL, "create_issue", "listFiles"]);
    assert_eq!(presentation.specs(&toolset)[..2], before[..], "the beginning stays as it was");

    let said = call(&presentation, &toolset, SEARCH_TOOL, json!({ "query": "zebra" }));
    assert!(said.starts_with("No tool fits. 1003 tools"), "{said}");
    let said = presentation.call(&toolset, SEARCH_TOOL, Map::new()).unwrap();
    assert!(said.is_error && said.to_model_text().contains("query"), "the model learns what is wrong");
}

#[test]
fn a_search_gives_no_more_than_there_is_room_for() {
    let heavy = (0..60).map(|number| tool(&format!("widget_{number}"), &"Turns a widget. ".repeat(40)));
    let ticket = tool("create_issue", "Opens a new ticket in the tracker.");
    let toolset = toolset(&[("factory", heavy.chain([ticket]).collect())]);
    let presentation =
        ToolPresentation::new(&toolset, ToolLimits { context_tokens: 8_192, can_search: true }, "please", &[]);
    let said = call(&presentation, &toolset, SEARCH_TOOL, json!({ "query": "widget", "limit": 50 }));
    assert!(
        said.contains("by their names:\n- widget_0") && said.contains("before you call them:\n- widget_2"),
        "{said}"
    );
    let listed = presentation.specs(&toolset);
    let bytes: usize = listed[2..].iter().map(|spec| spec.description.len()).sum();
    assert!(
        listed.len() > 20 && bytes <= MIN_FOUND_TOKENS * BYTES_PER_TOKEN,
        "{} tools of {bytes} bytes",
        listed.len()
    );
    call(&presentation, &toolset, DETAILS_TOOL, json!({ "names": ["widget_49"] }));
    assert_eq!(names(&presentation, &toolset).last().unwrap(), "widget_49", "what is asked for by name is listed");
}

#[test]
fn a_tool_that_the_person_names_or_that_was_called_before_needs_no_search() {
    let toolset = many(1_000);
    for message in ["Use the widget_777 tool to turn it.", "widget_777", "Try `WIDGET_777`, please."] {
        let presentation = ToolPresentation::new(&toolset, ROOMY, message, &[]);
        assert_eq!(names(&presentation, &toolset)[2..], ["widget_777"], "{message}");
    }
    let used = ["widget_5", "gone", "create_issue", "widget_5"].map(|name| ModelCall {
        id: String::new(),
        name: name.into(),
        arguments: "{}".into(),
    });
    let said = ModelMessage::Assistant {
        reasoning_blocks: Vec::new(),
        text: String::new(),
        calls: used.to_vec(),
        files: Vec::new(),
    };
    let presentation = ToolPresentation::new(&toolset, ROOMY, "and widget_9", &[said]);
    assert_eq!(names(&presentation, &toolset)[2..], ["widget_5", "create_issue", "widget_9"]);
}

#[test]
fn a_model_that_cannot_search_gets_what_fits_the_persons_words() {
    let toolset = many(1_000);
    let small = ToolLimits { context_tokens: 8_192, can_search: false };
    let presentation = ToolPresentation::new(&toolset, small, "Open an issue about the files", &[]);
    assert_eq!(names(&presentation, &toolset), ["create_issue", "listFiles"]);
    let notice =
        "1003 tools are more than this model can read. It gets those that fit your words: create_issue, listFiles.";
    assert_eq!(presentation.notice(&toolset).unwrap(), notice);
    let presentation = ToolPresentation::new(&toolset, small, "widget", &[]);
    assert!((3..50).contains(&names(&presentation, &toolset).len()), "as many as it can read soon");
}

#[test]
fn our_tools_keep_their_names() {
    let toolset = many(1_000);
    assert!(toolset.get(SEARCH_TOOL).is_none());
    let theirs = toolset.find("desk", SEARCH_TOOL).unwrap();
    assert_eq!(theirs.model_name, "desk__search_tools");
}

#[test]
fn words_are_found_in_any_order_as_beginnings_and_in_every_spelling() {
    let toolset = toolset(&[
        (
            "git",
            vec![
                tool("get_issue", "Reads one."),
                tool("listIssues", "Reads them all."),
                tool("close", "Ends an issue."),
            ],
        ),
        ("mail", vec![tool("send-letter", "Sends a letter."), tool("get", "Gets.")]),
    ]);
    for query in ["get issue", "issue get", "getIssue", "GET_ISSUE", "get the issue", "iss ge"] {
        assert_eq!(search_names(&toolset, query)[0], "get_issue", "{query}");
    }
    assert_eq!(search_names(&toolset, "issues"), ["listIssues", "get_issue", "close"], "a plural finds the singular");
    assert_eq!(search_names(&toolset, "mail letter")[0], "send-letter", "the connection's name counts");
    assert_eq!(search_names(&toolset, "get")[0], "get", "a whole name comes first");
    assert!(search_names(&toolset, "x").is_empty() && search_names(&toolset, " ").is_empty());
    assert_eq!(search::search(toolset.tools(), "", Some("MAIL")), [3, 4], "all of a connection's");
}

proptest! {
    /// Whatever a tool is called, its name finds it first.
    #[test]
    fn a_whole_name_finds_its_tool(name in "[A-Za-z0-9_.-]{1,64}") {
        let toolset = toolset(&[("other", vec![tool("one", &name), tool("two", &name)]), ("a", vec![tool(&name, "")])]);
        let found = search::search(toolset.tools(), &name, None);
        prop_assert_eq!(&toolset.tools()[found[0]].definition.name, &name);
    }

    #[test]
    fn no_query_is_too_odd(query in "\\PC{0,200}") {
        search_names(&many(10), &query);
    }
}
