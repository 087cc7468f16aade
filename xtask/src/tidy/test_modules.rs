//! Rule: every test file is part of a test program; otherwise its tests would never run.

use super::Source;

const TEST_ROOT: &str = "/tests/all.rs";

/// Checks that each file next to a crate's `tests/all.rs` is a module of it.
pub fn check(files: &[Source]) -> Vec<String> {
    let roots = files.iter().filter_map(|file| Some((file, file.path.strip_suffix(TEST_ROOT)?)));
    roots.flat_map(|(root, folder)| left_out(root, folder, files)).collect()
}

/// Returns the files that are missing in the root.
fn left_out(root: &Source, folder: &str, files: &[Source]) -> Vec<String> {
    let module = |file: &Source| {
        let name = file.path.strip_prefix(folder)?.strip_prefix("/tests/")?.strip_suffix(".rs")?;
        (!name.contains('/') && name != "all").then(|| name.to_owned())
    };
    let names = files.iter().filter_map(module);
    names
        .filter(|name| !root.text.lines().any(|line| line == format!("mod {name};")))
        .map(|name| format!("{} lacks `mod {name};`: its tests would never run", root.path))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::source;

    #[test]
    fn a_file_that_is_no_module_is_named() {
        let files = [
            source("crates/a/tests/all.rs", "mod one;\n"),
            source("crates/a/tests/one.rs", ""),
            source("crates/a/tests/two.rs", ""),
            source("crates/a/tests/two/part.rs", ""),
            source("crates/b/tests/three.rs", ""),
        ];
        let findings = check(&files);
        assert_eq!(findings, ["crates/a/tests/all.rs lacks `mod two;`: its tests would never run"]);
    }
}
