//! The texts of the licences of everything that the product contains, in one file.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;
use spdx::{Expression, ParseMode};

use super::Output;
use crate::command::run_quiet;
use crate::failure::{Context, Failure, Outcome};
use crate::tidy::dependencies::packages;
use crate::workspace::Workspace;
use crate::{notices, npm_packages};

/// File of the texts.
pub const LICENCES_FILE: &str = "THIRD-PARTY-LICENSES.txt";

/// Beginnings of the names of files with licences, in lower case.
const FILE_NAMES: [&str; 6] = ["license", "licence", "unlicense", "copying", "copyright", "notice"];
/// Extensions of files with such names that are code.
const CODE_EXTENSIONS: [&str; 12] = ["c", "cjs", "go", "h", "js", "json", "map", "mjs", "py", "rs", "toml", "ts"];
/// Licence of data within a crate of the workspace, with the name of its component.
const DATA_LICENCE: (&str, &str, &str) =
    ("list of common passwords", "BSD-3-Clause", "crates/accounts/src/common_passwords.LICENSE");
/// Notices of Rust's standard library, in the folder of the toolchain.
const STANDARD_LIBRARY_NOTICES: &str = "share/doc/rust/COPYRIGHT-library.html";

const INTRODUCTION: &str = "\
Licences of the components in AI Chat MCP

AI Chat MCP is licensed under the Apache License 2.0 (LICENSE). Its binary contains the components below. The numbers
behind each name are those of its texts, which follow the list. Of a component with a choice of licences, all texts that
it ships are given.

";

/// A component of others.
struct Component {
    /// Kind, name and version.
    name: String,
    /// SPDX expression.
    licence: String,
    /// Texts that the component ships.
    texts: Vec<String>,
    /// Named where the component ships no text.
    authors: String,
}

/// A crate, as `cargo metadata` describes it.
#[derive(Deserialize)]
struct CrateMetadata {
    name: String,
    version: String,
    authors: Vec<String>,
    manifest_path: PathBuf,
}

/// Output of `cargo metadata`.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<CrateMetadata>,
}

/// Writes the file to the staging folder, and returns its path. It is the same for all architectures.
pub fn build(workspace: &Workspace, output: &Output) -> Outcome<PathBuf> {
    let file = output.staging.join(LICENCES_FILE);
    fs::write(&file, document(&components(workspace)?)?).context(LICENCES_FILE)?;
    Ok(file)
}

/// Returns everything of others that the binary contains.
fn components(workspace: &Workspace) -> Outcome<Vec<Component>> {
    let mut components = crates(workspace)?;
    components.extend(web_packages(workspace)?);
    components.push(standard_library()?);
    let (name, licence, file) = DATA_LICENCE;
    let texts = vec![read(&workspace.root.join(file))?];
    components.push(Component { name: name.to_owned(), licence: licence.to_owned(), texts, authors: String::new() });
    Ok(components)
}

/// Returns the crates of the binary.
fn crates(workspace: &Workspace) -> Outcome<Vec<Component>> {
    let mut cargo = workspace.cargo(&["metadata", "--locked", "--format-version", "1"]);
    let printed = run_quiet(cargo.args(notices::TARGETS.iter().flat_map(|target| ["--filter-platform", *target])))?;
    let metadata: Metadata = serde_json::from_str(&printed).context("cargo metadata")?;
    let mut components = Vec::new();
    for package in packages(workspace, &notices::TARGETS)?.into_iter().filter(|package| !package.is_own) {
        let mut described = metadata.packages.iter();
        let described = described.find(|found| found.name == package.name && found.version == package.version);
        let described = described.ok_or_else(|| Failure::new(format!("cargo metadata lacks {}", package.name)))?;
        components.push(Component {
            name: format!("crate {} {}", package.name, package.version),
            licence: package.licence,
            texts: texts_within(described.manifest_path.parent().unwrap_or(Path::new("")))?,
            authors: described.authors.join(", "),
        });
    }
    Ok(components)
}

/// Returns the packages of the web app.
fn web_packages(workspace: &Workspace) -> Outcome<Vec<Component>> {
    let packages = npm_packages::shipped(workspace)?.into_iter().map(|package| {
        let folder = workspace.web().join(&package.folder);
        let manifest: serde_json::Value = serde_json::from_str(&read(&folder.join("package.json"))?).context("npm")?;
        let author = &manifest["author"];
        Ok(Component {
            name: format!("npm package {} {}", package.name, package.version),
            licence: package.licence,
            texts: texts_within(&folder)?,
            authors: author["name"].as_str().or(author.as_str()).unwrap_or_default().to_owned(),
        })
    });
    packages.collect()
}

/// Returns Rust's standard library, with the texts of the crates that it is made of.
fn standard_library() -> Outcome<Component> {
    let sysroot = run_quiet(Command::new("rustc").args(["--print", "sysroot"]))?;
    let version = run_quiet(Command::new("rustc").arg("--version"))?;
    let page = read(&Path::new(sysroot.trim()).join(STANDARD_LIBRARY_NOTICES))?;
    let version = version.split_whitespace().nth(1).unwrap_or_default();
    let licence = "MIT OR Apache-2.0".to_owned();
    let mut texts = standard_texts(&licence, "The Rust Project Developers")?;
    texts.extend(preformatted(&page));
    Ok(Component { name: format!("standard library of Rust {version}"), licence, texts, authors: String::new() })
}

/// Returns the preformatted texts of an HTML page.
fn preformatted(page: &str) -> Vec<String> {
    let texts = page.split("<pre>").skip(1).filter_map(|rest| Some(rest.split_once("</pre>")?.0));
    let plain = |text: &str| {
        [("&#34;", "\""), ("&#39;", "'"), ("&#60;", "<"), ("&#62;", ">"), ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")]
            .into_iter()
            .fold(text.to_owned(), |text, (entity, character)| text.replace(entity, character))
    };
    texts.map(plain).collect()
}

/// Returns the licence files in a folder and in those below, except of packages that are installed there.
fn texts_within(folder: &Path) -> Outcome<Vec<String>> {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).context(folder.display())?.flatten().map(|entry| entry.path()).collect();
    entries.sort();
    let mut texts = Vec::new();
    for path in entries.iter().filter(|path| !path.is_symlink()) {
        if path.is_dir() && !path.ends_with("node_modules") {
            texts.extend(texts_within(path)?);
        } else if path.is_file() && has_licence_name(path) {
            texts.push(read(path)?);
        }
    }
    Ok(texts)
}

/// Returns whether a file is named like one with a licence.
fn has_licence_name(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let extension = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    FILE_NAMES.iter().any(|start| name.starts_with(start)) && !CODE_EXTENSIONS.contains(&extension.as_str())
}

/// Returns the standard texts of an SPDX expression, headed by the authors.
fn standard_texts(licence: &str, authors: &str) -> Outcome<Vec<String>> {
    let expression = Expression::parse_mode(licence, ParseMode::LAX).context(licence)?;
    let ids = expression.requirements().filter_map(|requirement| requirement.req.license.id());
    let head = if authors.is_empty() { String::new() } else { format!("Authors: {authors}\n\n") };
    let texts: Vec<String> = ids.map(|id| format!("{}\n\n{head}{}", id.full_name, id.text())).collect();
    if texts.is_empty() { Err(Failure::new(format!("there is no text of the licence {licence}"))) } else { Ok(texts) }
}

/// Returns the file: all components with the numbers of their texts, and each text once.
fn document(components: &[Component]) -> Outcome<String> {
    let (mut list, mut all) = (INTRODUCTION.to_owned(), String::new());
    let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
    for component in components {
        let standard;
        let texts = if component.texts.is_empty() {
            standard = standard_texts(&component.licence, &component.authors)?;
            &standard
        } else {
            &component.texts
        };
        let mut own: Vec<usize> = Vec::new();
        for text in texts {
            let next = numbers.len() + 1;
            // Texts that differ in line breaks only are the same.
            let number = *numbers.entry(text.split_whitespace().collect::<Vec<_>>().join(" ")).or_insert(next);
            if number == next {
                let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
                let text = lines.join("\n");
                // Writing to a string cannot fail.
                let _ = write!(all, "\n{:=<78}\nText {number}\n\n{}\n", "", text.trim_matches('\n'));
            }
            own.push(number);
        }
        own.sort_unstable();
        own.dedup();
        let own: Vec<String> = own.iter().map(ToString::to_string).collect();
        let _ = writeln!(list, "{} ({}): {}", component.name, component.licence, own.join(", "));
    }
    Ok(list + &all)
}

/// Reads a text file. Some licences are not in UTF-8.
fn read(file: &Path) -> Outcome<String> {
    let content = fs::read(file).context(format!("cannot read {}", file.display()))?;
    Ok(String::from_utf8_lossy(&content).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn component(name: &str, texts: &[&str]) -> Component {
        let texts = texts.iter().map(|text| (*text).to_owned()).collect();
        Component { name: name.to_owned(), licence: "MIT OR ISC".to_owned(), texts, authors: "Ann".to_owned() }
    }

    #[test]
    fn gives_each_text_once_with_its_number() {
        let text =
            document(&[component("a", &["One\ntext", "Two"]), component("b", &["Two\n", "One text", "One"])]).unwrap();
        assert!(text.contains("\na (MIT OR ISC): 1, 2\nb (MIT OR ISC): 1, 2, 3\n"), "{text}");
        assert_eq!(text.matches("\nText ").count(), 3, "{text}");
        assert!(text.contains("\nText 1\n\nOne\ntext\n\n=="), "{text}");
    }

    #[test]
    fn gives_standard_texts_where_a_component_has_none() {
        let text = document(&[component("a", &[])]).unwrap();
        assert!(text.contains("\na (MIT OR ISC): 1, 2\n"), "{text}");
        assert!(text.contains("\nMIT License\n\nAuthors: Ann\n\n") && text.contains("\nISC License\n"), "{text}");
        assert!(document(&[Component { licence: "(".to_owned(), ..component("a", &[]) }]).is_err());
    }

    #[test]
    fn describes_the_components_of_the_product() {
        let text = document(&components(&Workspace::find().unwrap()).unwrap()).unwrap();
        for begin in [
            "crate aws-lc-sys ",
            "npm package @fontsource-variable/geist ",
            "standard library of Rust ",
            "list of common passwords ",
        ] {
            assert!(text.contains(&format!("\n{begin}")), "{begin}");
        }
        // Of fonts, C sources, a package without a file of its licence, and data.
        for licence in ["SIL OPEN FONT LICENSE", "OpenSSL", "Authors: Akhil Velagapudi", "Django Software Foundation"] {
            assert!(text.contains(licence), "{licence}");
        }
    }

    #[test]
    fn knows_files_with_licences_by_their_names() {
        for name in
            ["LICENSE", "LICENSE-MIT", "licence.md", "COPYING", "NOTICE.txt", "UNLICENSE", "src/LICENSE-UNICODE"]
        {
            assert!(has_licence_name(Path::new(name)), "{name}");
        }
        for name in ["license.rs", "licenses.json", "README.md", "src/relicense"] {
            assert!(!has_licence_name(Path::new(name)), "{name}");
        }
    }

    #[test]
    fn reads_preformatted_texts() {
        let page = "<h1>&amp;</h1><pre>\nA &#60;a@b&#62; &#34;c&#34;\n</pre><p>no</p><pre>B</pre>";
        assert_eq!(preformatted(page), ["\nA <a@b> \"c\"\n", "B"]);
    }
}
