//! Recorded streams of many servers, decoded whole and cut anywhere, compared with the snapshot beside each.

mod response_formats;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use domain::model::{FinishReason, ModelCall, ModelError, ModelEvent, ModelMessage, PartKind, Request, Usage};
use proptest::prelude::*;

use super::{ProviderApi, StreamDecoder};

/// Provider APIs and the folders of their fixtures.
const APIS: [(ProviderApi, &str); 4] = [
    (ProviderApi::OpenAiChat, "openai_chat"),
    (ProviderApi::OpenAiResponses, "openai_responses"),
    (ProviderApi::Anthropic, "anthropic"),
    (ProviderApi::Gemini, "gemini"),
];

fn fixtures_in(folder: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(folder);
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "sse"));
    paths.sort();
    let name = |path: &Path| path.file_stem().unwrap().to_string_lossy().into_owned();
    paths.iter().map(|path| (name(path), std::fs::read(path).unwrap())).collect()
}

/// Returns every fixture, named by its folder and file.
fn fixtures() -> Vec<(ProviderApi, String, Vec<u8>)> {
    let all = APIS.into_iter().flat_map(|(api, folder)| {
        let fixtures = fixtures_in(folder);
        assert!(!fixtures.is_empty(), "{folder}");
        fixtures.into_iter().map(move |(name, bytes)| (api, format!("{folder}/{name}"), bytes))
    });
    all.collect()
}

fn chat_fixture(name: &str) -> Vec<u8> {
    fixtures_in("openai_chat").into_iter().find(|(stem, _)| stem == name).unwrap().1
}

fn read_for<'a>(
    api: ProviderApi,
    request: &Request,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<ModelEvent>, Result<(), ModelError>) {
    let mut reader = StreamDecoder::new(api, request);
    let mut events = Vec::new();
    for piece in pieces {
        if let Err(error) = reader.push(piece, &mut events) {
            return (events, Err(error));
        }
    }
    let end = reader.finish(&mut events);
    (events, end)
}

fn read(api: ProviderApi, bytes: &[u8]) -> (Vec<ModelEvent>, Result<(), ModelError>) {
    read_for(api, &empty_request(), [bytes])
}

fn empty_request() -> Request {
    Request { model: "m".to_owned(), ..Request::default() }
}

/// Formats each event as one line.
fn format_events((events, end): &(Vec<ModelEvent>, Result<(), ModelError>)) -> String {
    let mut lines = String::new();
    for event in events {
        match event {
            ModelEvent::Notice(text) => writeln!(lines, "notice {text:?}"),
            ModelEvent::ReplyOptions(options) => writeln!(lines, "options {options:?}"),
            ModelEvent::Status(status) => writeln!(lines, "status {status:?}"),
            ModelEvent::PartStart { part, kind: PartKind::ToolCall { id, name } } => {
                writeln!(lines, "{part} call {name:?} {id:?}")
            }
            ModelEvent::PartStart { part, kind } => writeln!(lines, "{part} {kind:?}"),
            ModelEvent::Delta { part, text } => writeln!(lines, "{part} + {text:?}"),
            ModelEvent::Signature { part, signature } => {
                assert_eq!(signature.model, "m");
                writeln!(lines, "{part} signature {} {}", signature.wire, signature.data)
            }
            ModelEvent::PartEnd { part } => writeln!(lines, "{part} end"),
            ModelEvent::File { media_type, bytes } => {
                writeln!(lines, "file {media_type} {} bytes {}", bytes.len(), bytes.escape_ascii())
            }
            ModelEvent::Usage(Usage { input_tokens, output_tokens, cached_input_tokens }) => {
                writeln!(lines, "usage in {input_tokens} ({cached_input_tokens} cached) out {output_tokens}")
            }
            ModelEvent::Finish(reason) => writeln!(lines, "finish {reason:?}"),
        }
        .unwrap();
    }
    if let Err(error) = end {
        writeln!(lines, "error {error:?}").unwrap();
    }
    lines
}

/// Asserts what every consumer of the events relies on.
fn assert_invariants(name: &str, (events, end): &(Vec<ModelEvent>, Result<(), ModelError>)) {
    let mut open = Vec::new();
    let mut opened = 0;
    let mut ids = Vec::new();
    let mut finishes = 0;
    for event in events {
        assert_eq!(finishes, 0, "{name}: something follows the finish");
        match event {
            ModelEvent::PartStart { part, kind } => {
                assert_eq!(*part, opened, "{name}: parts are numbered in the order in which they open");
                opened += 1;
                open.push(*part);
                if let PartKind::ToolCall { id, .. } = kind {
                    assert!(!id.is_empty() && !ids.contains(id), "{name}: {id:?} is no unique id");
                    ids.push(id.clone());
                }
            }
            ModelEvent::Delta { part, text } => {
                assert!(open.contains(part) && !text.is_empty(), "{name}: {event:?}");
            }
            ModelEvent::Signature { part, .. } => assert!(open.contains(part), "{name}: {event:?}"),
            ModelEvent::PartEnd { part } => {
                let at = open.iter().position(|open| open == part).unwrap();
                open.remove(at);
            }
            ModelEvent::Finish(_) => finishes += 1,
            ModelEvent::File { bytes, .. } => assert!(!bytes.is_empty(), "{name}"),
            ModelEvent::Usage(_) | ModelEvent::Status(_) | ModelEvent::Notice(_) | ModelEvent::ReplyOptions(_) => {}
        }
    }
    assert_eq!(finishes == 1 && open.is_empty(), end.is_ok(), "{name}: {open:?} {end:?}");
}

#[test]
fn decodes_every_fixture_as_in_its_snapshot() {
    for (api, path, bytes) in fixtures() {
        let response = read(api, &bytes);
        assert_invariants(&path, &response);
        let (folder, name) = path.split_once('/').unwrap();
        insta::with_settings!({
            snapshot_path => format!("../../fixtures/{folder}"),
            prepend_module_to_snapshot => false,
            omit_expression => true,
        }, { insta::assert_snapshot!(name, format_events(&response)) });
    }
}

#[test]
fn decodes_every_fixture_cut_at_any_byte() {
    for (api, name, bytes) in fixtures() {
        let want = read(api, &bytes);
        assert_eq!(read_for(api, &empty_request(), bytes.chunks(1)), want, "{name}, byte by byte");
        for cut in 0..bytes.len() {
            let (head, tail) = bytes.split_at(cut);
            assert_eq!(read_for(api, &empty_request(), [head, tail]), want, "{name}, cut at {cut}");
        }
    }
}

#[test]
fn keeps_invariants_when_truncated_anywhere() {
    for (api, name, bytes) in fixtures() {
        for cut in 0..bytes.len() {
            assert_invariants(&format!("{name} up to {cut}"), &read(api, &bytes[..cut]));
        }
    }
}

#[test]
fn does_not_reuse_call_ids_of_the_conversation() {
    let calls = vec![ModelCall { id: "call_9".to_owned(), name: "lookup".to_owned(), arguments: "{}".to_owned() }];
    let request = Request { messages: vec![ModelMessage::assistant("", calls)], ..Request::default() };
    let (events, _) = read_for(ProviderApi::OpenAiChat, &request, [chat_fixture("openrouter_two_finishes").as_slice()]);
    let id = events.iter().find_map(|event| match event {
        ModelEvent::PartStart { kind: PartKind::ToolCall { id, .. }, .. } => Some(id.as_str()),
        _ => None,
    });
    assert_eq!(id, Some("call_1"));
}

#[test]
fn marks_response_without_end_marker_as_truncated() {
    let (events, _) = read(ProviderApi::OpenAiChat, &chat_fixture("closed_without_finish"));
    assert_eq!(events.last(), Some(&ModelEvent::Finish(FinishReason::Truncated)));
}

/// Returns a stream of tool calls in OpenAI's format, with each call's arguments cut at the given positions.
fn stream_of(arguments: &[(String, Vec<usize>)]) -> String {
    let mut stream = String::new();
    let mut chunk = |piece: serde_json::Value| {
        let chunk = serde_json::json!({ "choices": [{ "index": 0, "delta": { "tool_calls": [piece] } }] });
        write!(stream, "data: {chunk}\n\n").unwrap();
    };
    for (index, (text, cuts)) in arguments.iter().enumerate() {
        let function = serde_json::json!({ "name": format!("tool_{index}"), "arguments": "" });
        chunk(serde_json::json!({ "index": index, "id": format!("id_{index}"), "function": function }));
        let characters: Vec<char> = text.chars().collect();
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut % (characters.len() + 1)).collect();
        places.extend([0, characters.len()]);
        places.sort_unstable();
        for pair in places.windows(2) {
            let piece: String = characters[pair[0]..pair[1]].iter().collect();
            chunk(serde_json::json!({ "index": index, "function": { "arguments": piece } }));
        }
    }
    stream + "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n"
}

proptest! {
    #[test]
    fn decodes_fixtures_with_random_cuts(
        which in any::<prop::sample::Index>(),
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..40),
    ) {
        let fixtures = fixtures();
        let (api, name, bytes) = which.get(&fixtures);
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        places.extend([0, bytes.len()]);
        places.sort_unstable();
        let pieces = places.windows(2).map(|pair| &bytes[pair[0]..pair[1]]);
        prop_assert_eq!(read_for(*api, &empty_request(), pieces), read(*api, bytes), "{}", name);
    }

    #[test]
    fn reassembles_arguments_of_parallel_calls(
        arguments in proptest::collection::vec(("\\PC{0,40}", proptest::collection::vec(0usize..60, 0..6)), 1..5),
    ) {
        let (events, end) = read(ProviderApi::OpenAiChat, stream_of(&arguments).as_bytes());
        prop_assert_eq!(end, Ok(()));
        let mut got = vec![String::new(); arguments.len()];
        for event in &events {
            if let ModelEvent::Delta { part, text } = event {
                got[*part as usize].push_str(text);
            }
        }
        let want: Vec<String> = arguments.into_iter().map(|(text, _)| text).collect();
        prop_assert_eq!(got, want);
    }

    #[test]
    fn accepts_any_bytes_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        for (api, name) in APIS {
            assert_invariants(name, &read(api, &bytes));
        }
    }
}
