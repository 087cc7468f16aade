//! Rule: relative links of documents that packages contain lead to documents in them, and to headings that exist.

use super::Source;
use crate::documents::is_shipped;
use crate::workspace::Workspace;

pub fn check(workspace: &Workspace, files: &[Source]) -> Vec<String> {
    let exists = |path: &str| workspace.root.join(path).exists();
    let documents = files.iter().filter(|file| file.is(&["md"]) && is_shipped(&file.path));
    documents.flat_map(|document| dead_links(document, files, exists)).collect()
}

/// Returns a finding for each dead link of a document.
fn dead_links(document: &Source, files: &[Source], exists: impl Fn(&str) -> bool) -> Vec<String> {
    let mut findings = Vec::new();
    for (number, line) in document.lines() {
        for link in links(line).filter(|link| !link.contains("://") && !link.starts_with("mailto:")) {
            let (path, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = resolve(&document.path, path);
            let place = format!("{}:{number} links to {link}", document.path);
            if !is_shipped(&target) || !exists(&target) {
                findings.push(format!("{place}: packages do not contain that document (xtask/src/documents.rs)"));
                continue;
            }
            let headings = files.iter().find(|file| file.path == target).map(headings);
            if !heading.is_empty() && !headings.is_some_and(|headings| headings.iter().any(|name| name == heading)) {
                findings.push(format!("{place}: there is no such heading"));
            }
        }
    }
    findings
}

/// Returns the addresses of links and pictures in a line.
fn links(line: &str) -> impl Iterator<Item = &str> {
    let addresses = [("](", ')'), ("src=\"", '"'), ("srcset=\"", '"')];
    addresses
        .into_iter()
        .flat_map(move |(start, end)| line.split(start).skip(1).filter_map(move |rest| Some(rest.split_once(end)?.0)))
}

/// Returns the path that a relative link names, from the root of the repository.
fn resolve(document: &str, link: &str) -> String {
    if link.is_empty() {
        return document.to_owned();
    }
    let mut parts: Vec<&str> = document.split('/').collect();
    parts.pop();
    for part in link.split('/').filter(|part| !part.is_empty() && *part != ".") {
        if part == ".." {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    parts.join("/")
}

/// Returns the names under which a document's headings and marked places can be linked to.
fn headings(document: &Source) -> Vec<String> {
    let headings = document.text.lines().filter(|line| line.starts_with('#')).map(|line| {
        let text = line.trim_start_matches('#').trim().to_lowercase();
        let kept = text.chars().filter(|letter| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_'));
        kept.map(|letter| if letter == ' ' { '-' } else { letter }).collect()
    });
    let marked = document.text.split("<a id=\"").skip(1).filter_map(|rest| Some(rest.split_once('"')?.0.to_owned()));
    headings.chain(marked).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::source;

    #[test]
    fn finds_links_that_packages_do_not_contain() {
        let guide = source(
            "docs/guide/one.md",
            "See [a](two.md), [b](two.md#the-first-one) and [c](../api.md#gone), [d](#own-part), [h](#place).\n\
             <img src=\"../missing.png\"> [e](https://example.com/a#b) [f](../../Cargo.toml) [g](../../LICENSE)\n\
             ## Own part\n<a id=\"place\"></a>\n",
        );
        let files = [guide, source("docs/guide/two.md", "## The `first` one!\n"), source("docs/api.md", "# API\n")];
        let findings = dead_links(&files[0], &files, |path| path != "docs/missing.png");
        let places: Vec<_> = findings.iter().map(|finding| finding.split(": ").next().unwrap()).collect();
        assert_eq!(
            places,
            [
                "docs/guide/one.md:1 links to ../api.md#gone",
                "docs/guide/one.md:2 links to ../../Cargo.toml",
                "docs/guide/one.md:2 links to ../missing.png",
            ]
        );
    }
}
