//! The web app's build, which the binary embeds.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use crate::command::run_quiet;
use crate::failure::{Context, Outcome};
use crate::node;
use crate::steps::{nothing_to_do, step};
use crate::workspace::Workspace;

/// Entries of `web/` that a build does not read.
const NOT_READ_BY_A_BUILD: [&str; 5] = ["node_modules", "dist", "e2e", "bench", ".vite"];

/// Installs the packages of the web app.
pub fn packages(workspace: &Workspace) -> Outcome {
    node::install("UI packages", &workspace.web())
}

/// Builds the web app. Does nothing if its sources are those of the last build.
pub fn build(workspace: &Workspace) -> Outcome {
    let web = workspace.web();
    let stamp = workspace.notes().join("ui-build");
    let sources = fingerprint(&web)?;
    let built = fs::read_to_string(&stamp).is_ok_and(|built| built == sources);
    // The note alone is not enough, since the output can have been deleted.
    if built && web.join("dist/index.html").is_file() {
        nothing_to_do("UI build", "the sources have not changed");
        return Ok(());
    }
    step("UI build", || run_quiet(&mut node::script(&web, "build")?).map(drop))?;
    fs::create_dir_all(workspace.notes()).context("cannot make .tools")?;
    // The fingerprint is from before the build, so that files edited during the build are built the next time.
    fs::write(&stamp, sources).context(format!("cannot write {}", stamp.display()))
}

/// Returns a hash of the names and contents of all files that a build reads. It need not be stable across compiler
/// versions: a changed hash costs one more build.
fn fingerprint(web: &Path) -> Outcome<String> {
    let mut files = Vec::new();
    list(web, &mut files)?;
    files.sort();
    let mut hasher = DefaultHasher::new();
    for file in files {
        file.hash(&mut hasher);
        fs::read(&file).context(format!("cannot read {}", file.display()))?.hash(&mut hasher);
    }
    Ok(format!("{:016x}\n", hasher.finish()))
}

/// Lists the files in a folder that a build reads.
fn list(folder: &Path, files: &mut Vec<PathBuf>) -> Outcome {
    for entry in fs::read_dir(folder).context(format!("cannot read {}", folder.display()))? {
        let path = entry.context(folder.display())?.path();
        if path.file_name().is_some_and(|name| NOT_READ_BY_A_BUILD.iter().any(|not| name == *not)) {
            continue;
        }
        if path.is_dir() {
            list(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fingerprint_follows_sources_and_nothing_else() {
        let web = std::env::temp_dir().join(format!("xtask-fingerprint-{}", std::process::id()));
        for folder in ["src", "dist", "e2e"] {
            fs::create_dir_all(web.join(folder)).unwrap();
        }
        fs::write(web.join("src/a.ts"), "1").unwrap();
        let first = fingerprint(&web).unwrap();
        fs::write(web.join("dist/index.html"), "built").unwrap();
        fs::write(web.join("e2e/journey.test.ts"), "test").unwrap();
        assert_eq!(fingerprint(&web).unwrap(), first);
        fs::write(web.join("src/a.ts"), "2").unwrap();
        let second = fingerprint(&web).unwrap();
        assert_ne!(second, first);
        fs::rename(web.join("src/a.ts"), web.join("src/b.ts")).unwrap();
        assert_ne!(fingerprint(&web).unwrap(), second);
        fs::remove_dir_all(&web).unwrap();
    }
}
