//! The guide to the commands beside the program: both have the same commands, options and kinds of events.

use std::collections::BTreeSet;

use tempfile::TempDir;

use crate::program::run;

/// The guide.
const GUIDE: &str = include_str!("../../../../docs/guide/commands.md");
/// Source with the kinds of events of the audit log.
const AUDIT_EVENTS: &str = include_str!("../../../storage/src/audit_events.rs");

/// A command with its own options, as its help prints them.
struct Command {
    /// Words after the program's name.
    words: Vec<String>,
    options: BTreeSet<String>,
}

impl Command {
    /// Returns whether this is the command of a heading, or one below it.
    fn is_within(&self, heading: &[&str]) -> bool {
        self.words.len() >= heading.len() && self.words.iter().zip(heading).all(|(one, other)| one == other)
    }
}

/// Returns the command and those below it, by the help of each.
fn commands_of(folder: &TempDir, words: &[String]) -> Vec<Command> {
    let arguments: Vec<&str> = words.iter().map(String::as_str).chain(["--help"]).collect();
    let (code, help, error) = run(folder.path(), &[], &arguments);
    assert_eq!((code, error.as_str()), (0, ""), "{arguments:?}");
    let usage = [&["Usage: ai-chat-mcp".to_owned()], words].concat().join(" ");
    assert!(help.contains(&usage), "{usage}\n{help}");
    let mut commands = vec![Command { words: words.to_vec(), options: options_in(&help) }];
    for name in subcommands(&help) {
        commands.extend(commands_of(folder, &[words, &[name]].concat()));
    }
    commands
}

/// Returns the names in the list of commands of a help text.
fn subcommands(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    // Continuation lines of descriptions are indented further.
    let names = lines.filter_map(|line| line.strip_prefix("  ")).filter(|line| !line.starts_with(' '));
    names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help").map(str::to_owned).collect()
}

/// Returns the options in the list of a help text, without those of every command.
fn options_in(help: &str) -> BTreeSet<String> {
    let lines = help.lines().skip_while(|line| *line != "Options:").skip(1);
    let listed = lines.filter(|line| line.trim_start().starts_with('-') && line.len() - line.trim_start().len() < 8);
    listed.flat_map(long_options).filter(|option| option != "--help" && option != "--version").collect()
}

/// Returns the words of a text that are long options.
fn long_options(text: &str) -> BTreeSet<String> {
    let is_part = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
    let words = text.split(|letter: char| !is_part(letter));
    let is_option = |word: &&str| word.strip_prefix("--").is_some_and(|name| name.starts_with(|one: char| one != '-'));
    words.filter(is_option).map(str::to_owned).collect()
}

/// Returns the part of the guide about a command: from its heading to the next one of that level.
fn section(command: &str) -> &'static str {
    let start = GUIDE.find(&format!("\n## {command}\n"));
    assert!(start.is_some(), "the guide has no section `## {command}`");
    let rest = &GUIDE[start.unwrap() + 1..];
    rest.find("\n## ").map_or(rest, |end| &rest[..end])
}

/// Returns the cells in the first column of the guide's table with this head.
fn first_column(head: &str) -> impl Iterator<Item = &'static str> {
    let table = GUIDE.split_once(head).unwrap().1;
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    rows.filter_map(|row| row.split('|').nth(1))
}

/// Returns whether a text has a name within code, alone or with more words.
fn has_code(text: &str, name: &str) -> bool {
    let ends = ['`', ' ', '\\', '|', '\n'];
    let follows = |rest: &str| rest.is_empty() || rest.starts_with(ends);
    [format!("`{name}"), format!("|{name}"), format!("ai-chat-mcp {name}")]
        .iter()
        .any(|start| text.match_indices(start.as_str()).any(|(at, _)| follows(&text[at + start.len()..])))
}

#[test]
fn the_guide_describes_every_command_and_option() {
    let folder = TempDir::new().unwrap();
    for Command { words, options } in commands_of(&folder, &[]) {
        // The options of all commands stand before the sections.
        let Some((top, inner)) = words.split_first() else { continue };
        let introduction = &GUIDE[..GUIDE.find("\n## ").unwrap()];
        assert!(introduction.contains(&format!("`{top}")), "the list of commands lacks {top}");
        if inner.is_empty() && options.is_empty() {
            continue;
        }
        let heading = GUIDE.lines().filter_map(|line| line.strip_prefix("## "));
        let heading = heading.clone().find(|heading| *heading == words.join(" ")).unwrap_or(top);
        let text = section(heading);
        let name = inner.join(" ");
        assert!(inner.is_empty() || has_code(text, &name) || has_code(text, &words.join(" ")), "{words:?} is missing");
        let documented = long_options(text);
        let missing: Vec<&String> = options.difference(&documented).collect();
        assert!(missing.is_empty(), "the section {heading} lacks {missing:?} of {words:?}");
    }
}

#[test]
fn the_program_has_every_command_and_option_of_the_guide() {
    let folder = TempDir::new().unwrap();
    let commands = commands_of(&folder, &[]);
    for heading in GUIDE.lines().filter_map(|line| line.strip_prefix("## ")) {
        let words: Vec<&str> = heading.split(' ').collect();
        let within: Vec<&Command> = commands.iter().filter(|command| command.is_within(&words)).collect();
        assert!(!within.is_empty(), "the program has no command {heading}");
        let options: BTreeSet<&String> = within.iter().flat_map(|command| &command.options).collect();
        for option in long_options(section(heading)) {
            assert!(options.contains(&option), "{heading} has no option {option}");
        }
    }
    for line in GUIDE.lines().filter_map(|line| line.trim_start().strip_prefix("ai-chat-mcp ")) {
        let is_name = |word: &&str| word.starts_with(|letter: char| letter.is_ascii_lowercase());
        let words: Vec<&str> = line.split(' ').take_while(is_name).collect();
        // The words that follow a command's name, as in `completions bash`, are its arguments.
        let longest = (1..=words.len()).rev().find(|length| commands.iter().any(|one| one.words == words[..*length]));
        assert!(longest.is_some(), "the program has no command {line}");
    }
}

#[test]
fn the_program_has_every_command_in_the_tables_of_the_guide() {
    let folder = TempDir::new().unwrap();
    let commands = commands_of(&folder, &[]);
    for (head, above) in [("| command | what it does |", None), ("| operation | what it does |", Some("admin"))] {
        let rows: Vec<&str> = first_column(head).collect();
        assert!(rows.len() > 5, "{head}");
        for cell in rows {
            let named = cell.split('`').nth(1).and_then(|code| code.split(' ').next());
            let words: Vec<&str> = above.into_iter().chain(named).collect();
            assert!(commands.iter().any(|command| command.words == words), "the program has no command {cell}");
        }
    }
}

#[test]
fn the_guide_lists_every_kind_of_audit_event() {
    let start = AUDIT_EVENTS.find("impl AuditEventKind {").unwrap();
    let names = AUDIT_EVENTS[start..].lines().take_while(|line| *line != "}");
    let names = names.filter_map(|line| line.split_once(" => \"")?.1.strip_suffix("\","));
    let in_code: BTreeSet<&str> = names.collect();
    assert!(in_code.contains("sign_in") && in_code.contains("account_deleted"), "{in_code:?}");

    let kinds = first_column("| kind | what happened |").flat_map(|cell| cell.split('`').skip(1).step_by(2));
    assert_eq!(in_code, kinds.collect::<BTreeSet<_>>());
}
