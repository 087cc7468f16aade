//! How fast the built-in model reads and writes, and what it takes: `speed FILE WORDS TOKENS`.

#![expect(clippy::print_stdout, reason = "a command-line tool")]

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use domain::UserId;
use domain::model::{ModelEvent, ModelMessage, Request};
use futures_util::StreamExt;
use local_model::{Engine, EngineSettings};
use tokio_util::sync::CancellationToken;

/// The program's own: what it makes of memory counts.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().context("which file?")?.into();
    let words = arguments.next().map_or(Ok(550), |text| text.parse::<usize>())?;
    let tokens = arguments.next().map_or(Ok(128), |text| text.parse())?;
    let engine = Engine::start(EngineSettings {
        weights_path: path,
        subprocess_program: None,
        verify_checksum: false,
        threads: None,
        idle_timeout: None,
    })?;
    let ask = |message: String, max_tokens| Request {
        messages: vec![ModelMessage::user(message)],
        max_tokens: Some(max_tokens),
        ..Request::default()
    };
    // The weights are read with the first question, which is not measured.
    drain(&engine, ask("Hello".to_owned(), 2)).await?;
    let text = "the quick brown fox jumps over the lazy dog ".repeat(words.div_ceil(9));
    let question = format!("{text}\nWrite a story of a thousand words about a fox and a dog.");
    let (reading, writing, read, written) = drain(&engine, ask(question, tokens)).await?;
    ensure!(written + 1 >= u64::from(tokens), "it ended after {written} tokens, which say nothing about its speed");
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let memory = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or("0");
        line.trim_start_matches(':').trim().trim_end_matches(" kB").parse::<u64>().unwrap_or(0) / 1_000
    };
    println!(
        "{{\"prefill\": {:.1}, \"decode\": {:.1}, \"mb\": {}, \"peak_mb\": {}, \"read\": {read}, \"written\": {written}}}",
        read as f64 / reading,
        written as f64 / writing,
        memory("VmRSS"),
        memory("VmHWM")
    );
    Ok(())
}

/// Seconds of reading and of writing, tokens read and written.
async fn drain(engine: &Engine, request: Request) -> Result<(f64, f64, u64, u64)> {
    let mut stream = engine.stream(request, UserId::fresh(), CancellationToken::new());
    let began = Instant::now();
    let (mut first, mut usage) = (None, None);
    while let Some(event) = stream.next().await {
        match event? {
            ModelEvent::PartStart { .. } => first = Some(began.elapsed().as_secs_f64()),
            ModelEvent::Usage(told) => usage = Some(told),
            _ => {}
        }
    }
    let (first, usage) = (first.context("no word came")?, usage.context("it did not end")?);
    let read = usage.input_tokens - usage.cached_input_tokens;
    Ok((first, began.elapsed().as_secs_f64() - first, read, usage.output_tokens))
}
