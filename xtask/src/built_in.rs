//! The built-in model by itself: how often it is right, and how fast it is beside llama.cpp with the same file.

use std::path::PathBuf;
use std::process::Command;

use crate::command::{run_quiet, run_shown};
use crate::failure::Outcome;
use crate::json::Value;
use crate::steps::step;
use crate::system::python;
use crate::weights;
use crate::workspace::Workspace;

/// Words of the prompt, and tokens that are written.
const WORDS: &str = "300";
const TOKENS: &str = "128";

/// What llama.cpp is measured with.
const BENCH: &str = "crates/local/bench";

/// The Python packages with llama.cpp in them.
pub fn llama_requirements(workspace: &Workspace) -> PathBuf {
    workspace.root.join(BENCH).join("requirements.txt")
}

/// Asks the questions in `crates/local/eval` and prints how many were answered rightly; the arguments go to the evaluation.
pub fn eval(workspace: &Workspace, arguments: &[String]) -> Outcome {
    let file = weights::ensure(workspace, &weights::BUILT_IN)?;
    let mut eval = example(workspace, "eval")?;
    eval.arg("--weights").arg(file).args(arguments);
    step("questions", || run_shown(&mut eval))
}

/// Measures both with the same file and the same number of threads, one after the other.
pub fn bench(workspace: &Workspace) -> Outcome {
    let file = weights::ensure(workspace, &weights::BUILT_IN)?;
    let python = python::ensure(&llama_requirements(workspace))?;
    let mut ours = example(workspace, "speed")?;
    let threads = std::thread::available_parallelism().map_or(1, usize::from).to_string();
    ours.arg(&file).args([WORDS, TOKENS]).env("RAYON_NUM_THREADS", &threads);
    let mut theirs = Command::new(python);
    theirs.arg(workspace.root.join(BENCH).join("llama.py")).arg(&file).args([WORDS, TOKENS, &threads]);
    let mut figures = Vec::new();
    step("figures", || {
        for command in [&mut theirs, &mut ours] {
            let output = run_quiet(command)?;
            let line = output.lines().rev().find(|line| line.starts_with('{')).unwrap_or_default();
            figures.push(Value::read(line)?);
        }
        Ok(())
    })?;
    let [theirs, ours] = figures.as_slice() else { return Ok(()) };
    println!("| | llama.cpp | built in | ratio |\n|---|---|---|---|");
    for (name, field) in [("prefill, tokens/s", "prefill"), ("decode, tokens/s", "decode"), ("memory, MB", "mb")] {
        let number = |figures: &Value| match figures.get(field) {
            Some(Value::Number(number)) => number.parse().unwrap_or(f64::NAN),
            _ => f64::NAN,
        };
        let (theirs, ours) = (number(theirs), number(ours));
        println!("| {name} | {theirs:.1} | {ours:.1} | {:.2}x |", ours / theirs);
    }
    Ok(())
}

fn example(workspace: &Workspace, name: &str) -> Outcome<Command> {
    let build = ["build", "--release", "--package", "local", "--example", name];
    step("compile", || run_shown(&mut workspace.cargo(&build)))?;
    Ok(Command::new(program(workspace, name)))
}

fn program(workspace: &Workspace, name: &str) -> PathBuf {
    workspace.release_binary().with_file_name("examples").join(name)
}
