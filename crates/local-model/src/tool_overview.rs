//! Answers to questions about the assistant's tools and servers. The program writes them from the list: the model would
//! take a minute for twenty tools, and leave some out.

use std::fmt::Write as _;

use domain::model::{ChatFacts, ModelMessage, Request, ResponseFormat, ServerFacts, ToolFacts};
use domain::text::cut_to;

use crate::language::{Language, detect_language};
use crate::overview_question::{OverviewTopic, overview_topic};

/// Maximum number of tools that an answer lists.
const MAX_LISTED_TOOLS: usize = 60;

/// Maximum number of servers that an answer names.
const MAX_NAMED_SERVERS: usize = 40;

/// Maximum number of bytes of a tool's description.
const MAX_DESCRIPTION_BYTES: usize = 110;

/// Returns the answer to a message that asks for nothing but the tools, the servers or the abilities of the assistant
/// in a chat of the product.
pub(crate) fn answer_from_list(request: &Request) -> Option<String> {
    let Some(ModelMessage::User { text, files }) = request.messages.last() else { return None };
    let facts = request.facts.as_ref()?;
    let is_plain = files.is_empty() && request.response_format == ResponseFormat::Text;
    let topic = overview_topic(text).filter(|_| is_plain)?;
    Some(write_overview(topic, text, &with_tools_of_client(facts, request)))
}

/// Returns the answer to a message that the model takes for a question about the tools.
pub(crate) fn describe_tools(request: &Request, message: &str) -> String {
    let none = ChatFacts { date: String::new(), servers: Vec::new() };
    let facts = with_tools_of_client(request.facts.as_ref().unwrap_or(&none), request);
    write_overview(overview_topic(message).unwrap_or(OverviewTopic::Abilities), message, &facts)
}

/// Adds the tools that are of no server, because an API client brought them.
fn with_tools_of_client(facts: &ChatFacts, request: &Request) -> ChatFacts {
    let mut facts = facts.clone();
    if facts.servers.is_empty() && !request.tools.is_empty() {
        let tools = request.tools.iter();
        let tools = tools.map(|tool| ToolFacts { name: tool.name.clone(), description: tool.description.clone() });
        facts.servers.push(ServerFacts {
            name: "client".to_owned(),
            tool_count: request.tools.len(),
            tools: tools.collect(),
        });
    }
    facts
}

/// Texts of an overview in one language.
struct OverviewTexts {
    /// Abilities without tools; `{name}` is the assistant's model.
    abilities: &'static str,
    /// Before the list of tools.
    tools: &'static str,
    /// Before the list of servers.
    servers: &'static str,
    /// No tools at all.
    none: &'static str,
    /// Tools that are left out.
    more: &'static str,
    /// After the list.
    ask: &'static str,
    tool_count: [&'static str; 2],
}

impl OverviewTexts {
    fn of(language: Language) -> Self {
        match language {
            Language::English => Self {
                abilities: "I am the small built-in model of AI Chat MCP. I answer questions, explain, summarise, translate and help with writing and code.",
                tools: "I can use these tools of your MCP servers:",
                servers: "These MCP servers are connected:",
                none: "No MCP server with tools is connected to this chat. You can add one under **MCP Servers**.",
                more: "… and {n} more",
                ask: "Best name the tool that you want.",
                tool_count: ["1 tool", "{n} tools"],
            },
            Language::German => Self {
                abilities: "Ich bin das kleine eingebaute Modell von AI Chat MCP. Ich beantworte Fragen, erkläre, fasse zusammen, übersetze und helfe beim Schreiben und Programmieren.",
                tools: "Ich kann diese Werkzeuge deiner MCP-Server benutzen:",
                servers: "Diese MCP-Server sind verbunden:",
                none: "Mit diesem Chat ist kein MCP-Server mit Werkzeugen verbunden. Unter **MCP-Server** kannst du einen hinzufügen.",
                more: "… und {n} weitere",
                ask: "Am besten nennst du das gewünschte Werkzeug beim Namen.",
                tool_count: ["1 Werkzeug", "{n} Werkzeuge"],
            },
            Language::French => Self {
                abilities: "Je suis le petit modèle intégré d’AI Chat MCP. Je réponds à des questions, j’explique, je résume, je traduis et j’aide à écrire et à programmer.",
                tools: "Je peux utiliser ces outils de tes serveurs MCP :",
                servers: "Ces serveurs MCP sont connectés :",
                none: "Aucun serveur MCP avec des outils n’est connecté à cette conversation. Tu peux en ajouter un sous **MCP Servers**.",
                more: "… et {n} autres",
                ask: "Le mieux est de nommer l’outil voulu.",
                tool_count: ["1 outil", "{n} outils"],
            },
            Language::Spanish => Self {
                abilities: "Soy el pequeño modelo integrado de AI Chat MCP. Respondo preguntas, explico, resumo, traduzco y ayudo a escribir y a programar.",
                tools: "Puedo usar estas herramientas de tus servidores MCP:",
                servers: "Estos servidores MCP están conectados:",
                none: "Ningún servidor MCP con herramientas está conectado a este chat. Puedes añadir uno en **MCP Servers**.",
                more: "… y {n} más",
                ask: "Lo mejor es nombrar la herramienta que quieres.",
                tool_count: ["1 herramienta", "{n} herramientas"],
            },
        }
    }

    fn count(&self, tools: usize) -> String {
        let [one, several] = self.tool_count;
        if tools == 1 { one.to_owned() } else { several.replace("{n}", &tools.to_string()) }
    }
}

/// Writes the answer to a question about a topic, in the language of the message.
pub(crate) fn write_overview(topic: OverviewTopic, message: &str, facts: &ChatFacts) -> String {
    let texts = OverviewTexts::of(detect_language(message));
    let mut text = String::new();
    if topic == OverviewTopic::Abilities {
        // Writing to a string cannot fail.
        let _ = write!(text, "{}\n\n", texts.abilities);
    }
    let count: usize = facts.servers.iter().map(|server| server.tool_count).sum();
    match topic {
        OverviewTopic::Servers if !facts.servers.is_empty() => push_servers(&texts, &facts.servers, &mut text),
        _ if count == 0 => text.push_str(texts.none),
        _ => push_tools(&texts, &facts.servers, &mut text),
    }
    text
}

fn push_servers(texts: &OverviewTexts, servers: &[ServerFacts], text: &mut String) {
    let _ = write!(text, "{}\n\n", texts.servers);
    for server in servers.iter().take(MAX_NAMED_SERVERS) {
        let _ = writeln!(text, "- **{}** ({})", escape_markdown(&server.name), texts.count(server.tool_count));
    }
    push_rest(texts, servers.len().saturating_sub(MAX_NAMED_SERVERS), text);
    text.truncate(text.trim_end().len());
}

fn push_tools(texts: &OverviewTexts, servers: &[ServerFacts], text: &mut String) {
    let _ = writeln!(text, "{}", texts.tools);
    let shown = shown_counts(servers);
    for (server, shown) in servers.iter().zip(&shown).take(MAX_NAMED_SERVERS) {
        let _ = write!(text, "\n**{}** ({})\n\n", escape_markdown(&server.name), texts.count(server.tool_count));
        for tool in server.tools.iter().take(*shown) {
            push_tool(tool, text);
        }
        push_rest(texts, server.tool_count - shown, text);
    }
    let unnamed = servers.iter().skip(MAX_NAMED_SERVERS).map(|server| server.tool_count).sum();
    push_rest(texts, unnamed, text);
    let _ = write!(text, "\n{}", texts.ask);
}

/// Returns how many tools of each server are listed. Small servers are listed completely; the others share the rest.
fn shown_counts(servers: &[ServerFacts]) -> Vec<usize> {
    let mut shown = vec![0; servers.len()];
    let mut left = MAX_LISTED_TOOLS;
    while left > 0 {
        let open: Vec<usize> = (0..servers.len().min(MAX_NAMED_SERVERS))
            .filter(|index| shown[*index] < servers[*index].tools.len())
            .collect();
        if open.is_empty() {
            break;
        }
        for index in open {
            if left > 0 {
                shown[index] += 1;
                left -= 1;
            }
        }
    }
    shown
}

fn push_tool(tool: &ToolFacts, text: &mut String) {
    // A back quote would end the code.
    let name = tool.name.replace('`', "'");
    let description = first_sentence(&tool.description);
    let _ = match description.as_str() {
        "" => writeln!(text, "- `{name}`"),
        description => writeln!(text, "- `{name}`: {}", escape_markdown(description)),
    };
}

fn push_rest(texts: &OverviewTexts, count: usize, text: &mut String) {
    if count > 0 {
        let _ = writeln!(text, "- {}", texts.more.replace("{n}", &count.to_string()));
    }
}

/// Returns the first sentence of a description on one line, or its beginning if it is long.
pub(crate) fn first_sentence(description: &str) -> String {
    let line = description.split_whitespace().collect::<Vec<_>>().join(" ");
    let end = line.find(". ").map_or(line.len(), |end| end + 1);
    let sentence = &line[..end];
    let cut = cut_to(sentence, MAX_DESCRIPTION_BYTES);
    if cut.len() < sentence.len() {
        let end = cut.rfind(' ').unwrap_or(cut.len());
        return format!("{}…", cut[..end].trim_end_matches([',', ';', ':']));
    }
    sentence.to_owned()
}

/// Escapes what Markdown would take for formatting, links or HTML.
pub(crate) fn escape_markdown(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if matches!(character, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '!' | '#' | '|' | '~') {
            escaped.push('\\');
        }
        escaped.push(if character.is_control() { ' ' } else { character });
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(name: &str, count: usize) -> ServerFacts {
        let tool = |index| ToolFacts {
            name: format!("{name}_{index}"),
            description: "Reads *all* of a [page](x). Slowly and twice.".to_owned(),
        };
        ServerFacts {
            name: name.to_owned(),
            tool_count: count,
            tools: (0..count.min(MAX_LISTED_TOOLS)).map(tool).collect(),
        }
    }

    fn facts(servers: Vec<ServerFacts>) -> ChatFacts {
        ChatFacts { date: String::new(), servers }
    }

    #[test]
    fn lists_tools_by_server() {
        let text = write_overview(
            OverviewTopic::Tools,
            "What tools do you have?",
            &facts(vec![server("a_b", 2), server("c", 1)]),
        );
        let list = "I can use these tools of your MCP servers:\n\n**a\\_b** (2 tools)\n\n\
                    - `a_b_0`: Reads \\*all\\* of a \\[page\\](x).\n- `a_b_1`: Reads \\*all\\* of a \\[page\\](x).\n\n\
                    **c** (1 tool)\n\n- `c_0`: Reads \\*all\\* of a \\[page\\](x).\n\nBest name the tool that you want.";
        assert_eq!(text, list);
    }

    #[test]
    fn bounds_the_list_of_many_tools() {
        let text = write_overview(
            OverviewTopic::Tools,
            "Welche Tools hast du?",
            &facts(vec![server("big", 197), server("small", 3)]),
        );
        assert_eq!(text.matches("\n- `").count(), MAX_LISTED_TOOLS);
        assert!(text.contains("(197 Werkzeuge)") && text.contains("`small_2`"), "{text}");
        assert!(text.contains("… und 140 weitere"), "{text}");
        let many: Vec<_> = (0..200).map(|index| server(&format!("s{index}"), 1)).collect();
        let text = write_overview(OverviewTopic::Servers, "Which servers are connected?", &facts(many));
        assert!(text.contains("… and 160 more") && text.len() < 2_000, "{text}");
    }

    #[test]
    fn says_that_nothing_is_connected() {
        for (topic, question) in [
            (OverviewTopic::Tools, "What tools do you have?"),
            (OverviewTopic::Servers, "Which servers are connected?"),
        ] {
            assert!(write_overview(topic, question, &facts(Vec::new())).starts_with("No MCP server"), "{question}");
        }
        let text = write_overview(OverviewTopic::Abilities, "¿Qué puedes hacer?", &facts(Vec::new()));
        assert!(text.starts_with("Soy el pequeño modelo") && text.contains("Ningún servidor"), "{text}");
    }

    #[test]
    fn shortens_long_descriptions() {
        let long = "word ".repeat(60);
        assert!(first_sentence(&long).len() < MAX_DESCRIPTION_BYTES + 4 && first_sentence(&long).ends_with("word…"));
        assert_eq!(first_sentence("One.\n Two."), "One.");
    }
}
