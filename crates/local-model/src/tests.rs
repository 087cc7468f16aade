//! Tests with real weights: the small ones prove the engine, the product's own prove that it is of use.

mod qwen;
mod smollm2;
mod subprocess;

use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;

use candle_core::quantized::gguf_file::Content;
use domain::UserId;
use domain::model::{
    FinishReason, ModelError, ModelEvent, ModelMessage, ModelStatus, Parameters, PartKind, Request, Usage,
};
use futures_util::StreamExt;
use tokio_util::sync::CancellationToken;

pub(crate) use self::smollm2::SMOLLM2;
use crate::model_config::ModelConfig;
use crate::tokenizer::Tokenizer;
use crate::transformer::TransformerModel;
use crate::{Engine, EngineSettings};

/// A file of weights in the cache of models. A machine without it has not been made ready for tests.
pub(crate) fn weights(file_name: &str) -> PathBuf {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| std::env::home_dir().map(|home| home.join(".cache"))).unwrap();
    let path = cache.join("ai-chat-mcp").join("models").join(file_name);
    assert!(path.is_file(), "there is no {}: run `cargo xtask model`", path.display());
    path
}

/// The vocabulary of the small weights.
pub(crate) fn tokenizer() -> Tokenizer {
    let (content, _) = small();
    Tokenizer::from_metadata(&content.metadata).unwrap()
}

/// The small weights with their vocabulary.
pub(crate) fn model() -> (TransformerModel, Tokenizer) {
    let (content, mut reader) = small();
    let config = ModelConfig::from_metadata(&content.metadata).unwrap();
    let tokenizer = Tokenizer::from_metadata(&content.metadata).unwrap();
    (TransformerModel::load(config, &content, &mut reader, |_, _| {}).unwrap(), tokenizer)
}

fn small() -> (Content, BufReader<File>) {
    let mut reader = BufReader::new(File::open(weights(SMOLLM2)).unwrap());
    (Content::read(&mut reader).unwrap(), reader)
}

/// What tokens say.
pub(crate) fn written(tokens: &[u32], tokenizer: &Tokenizer) -> String {
    let bytes: Vec<u8> = tokens.iter().flat_map(|token| tokenizer.bytes(*token)).copied().collect();
    String::from_utf8(bytes).unwrap()
}

fn start(file_name: &str) -> Engine {
    Engine::start(EngineSettings {
        weights_path: weights(file_name),
        subprocess_program: None,
        verify_checksum: false,
        threads: None,
        idle_timeout: None,
    })
    .unwrap()
}

/// Parameters with which the same words come every time.
const GREEDY: Parameters = Parameters { temperature: Some(0.0), top_p: None, effort: None };

fn user(text: &str) -> ModelMessage {
    ModelMessage::user(text)
}

/// A whole answer.
#[derive(Debug, Default)]
struct Answer {
    text: String,
    /// Name and arguments.
    call: Option<(String, String)>,
    statuses: Vec<ModelStatus>,
    notices: Vec<String>,
    reply_options: Vec<String>,
    usage: Usage,
    finish: Option<FinishReason>,
    error: Option<ModelError>,
}

async fn ask(engine: &Engine, request: Request) -> Answer {
    let mut stream = engine.stream(request, UserId::fresh(), CancellationToken::new());
    let mut answer = Answer::default();
    while let Some(item) = stream.next().await {
        assert!(answer.finish.is_none() && answer.error.is_none(), "nothing follows the end");
        match item {
            Ok(ModelEvent::Status(status)) => answer.statuses.push(status),
            Ok(ModelEvent::Notice(text)) => answer.notices.push(text),
            Ok(ModelEvent::PartStart { kind: PartKind::ToolCall { name, .. }, .. }) => {
                answer.call = Some((name, String::new()));
            }
            Ok(ModelEvent::Delta { text, .. }) => match &mut answer.call {
                Some((_, arguments)) => arguments.push_str(&text),
                None => answer.text.push_str(&text),
            },
            Ok(ModelEvent::ReplyOptions(options)) => answer.reply_options = options,
            Ok(ModelEvent::Usage(usage)) => answer.usage = usage,
            Ok(ModelEvent::Finish(reason)) => answer.finish = Some(reason),
            Ok(
                ModelEvent::PartStart { .. }
                | ModelEvent::Signature { .. }
                | ModelEvent::File { .. }
                | ModelEvent::PartEnd { .. },
            ) => {}
            Err(error) => answer.error = Some(error),
        }
    }
    answer
}
