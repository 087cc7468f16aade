//! Evaluation and benchmark of the built-in model: its accuracy, and its speed compared with llama.cpp on the same
//! file.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::command::{run_quiet, run_shown};
use crate::failure::{Context, Outcome};
use crate::steps::step;
use crate::system::python;
use crate::weights;
use crate::workspace::Workspace;

/// Lengths of the prompts in words: a question alone, and one after a long tool result.
const PROMPT_WORDS: [&str; 2] = ["300", "1500"];

/// Number of generated tokens.
const GENERATED_TOKENS: &str = "128";

/// Number of measurements, of which the fastest counts: other processes can only slow them down.
const MEASUREMENTS: usize = 3;

/// Folder with the scripts that measure llama.cpp.
const BENCH_FOLDER: &str = "crates/local-model/bench";

/// Returns the file with the pinned Python packages of llama.cpp.
pub fn llama_requirements(workspace: &Workspace) -> PathBuf {
    workspace.root.join(BENCH_FOLDER).join("requirements.txt")
}

/// Runs the questions in `crates/local-model/eval` and prints how many were answered correctly. The arguments are
/// those of the evaluation.
pub fn eval(workspace: &Workspace, arguments: &[String]) -> Outcome {
    let file = weights::ensure(workspace, &weights::BUILT_IN)?;
    let mut eval = example(workspace, "eval")?;
    eval.arg("--weights").arg(file).args(arguments);
    step("questions", || run_shown(&mut eval))
}

/// Measures both engines alternately, with the same file and the same number of threads.
pub fn bench(workspace: &Workspace) -> Outcome {
    let file = weights::ensure(workspace, &weights::BUILT_IN)?;
    let python = python::ensure(&llama_requirements(workspace))?;
    let threads = std::thread::available_parallelism().map_or(1, usize::from).to_string();
    let speed = example(workspace, "speed")?;
    let mut table = Vec::new();
    for words in PROMPT_WORDS {
        // Alternating spreads a slow phase of the machine over both engines.
        let mut ours = Command::new(speed.get_program());
        ours.arg(&file).args([words, GENERATED_TOKENS]).env("RAYON_NUM_THREADS", &threads);
        let mut theirs = Command::new(&python);
        theirs.arg(workspace.root.join(BENCH_FOLDER).join("llama.py")).arg(&file).args([
            words,
            GENERATED_TOKENS,
            &threads,
        ]);
        let mut rounds = Vec::new();
        step(&format!("figures for {words} words"), || {
            for _ in 0..MEASUREMENTS {
                rounds.push([figures(&mut theirs)?, figures(&mut ours)?]);
            }
            Ok(())
        })?;
        for (name, field) in [("prefill, tokens/s", "prefill"), ("decode, tokens/s", "decode"), ("memory, MB", "mb")] {
            // The first engine of each round is llama.cpp.
            let most = |of: usize| rounds.iter().map(|round| number(&round[of], field)).fold(f64::NAN, f64::max);
            let (theirs, ours) = (most(0), most(1));
            table.push(format!("| {words} words: {name} | {theirs:.1} | {ours:.1} | {:.2}x |", ours / theirs));
        }
    }
    println!("| | llama.cpp | built in | ratio |\n|---|---|---|---|\n{}", table.join("\n"));
    Ok(())
}

/// Runs a program and parses the JSON object in the last line of its output.
fn figures(command: &mut Command) -> Outcome<Value> {
    let output = run_quiet(command)?;
    let line = output.lines().rev().find(|line| line.starts_with('{')).unwrap_or_default();
    serde_json::from_str(line).context("the program's last line is not JSON")
}

/// Returns a field of the figures, or NaN.
fn number(figures: &Value, field: &str) -> f64 {
    figures[field].as_f64().unwrap_or(f64::NAN)
}

/// Builds an example of the `local-model` crate and returns its command.
fn example(workspace: &Workspace, name: &str) -> Outcome<Command> {
    let build = ["build", "--profile", "dist", "--package", "local-model", "--example", name];
    step("compile", || run_shown(&mut workspace.cargo(&build)))?;
    Ok(Command::new(program(workspace, name)))
}

fn program(workspace: &Workspace, name: &str) -> PathBuf {
    workspace.dist_binary().with_file_name("examples").join(name)
}
