//! Recognition of questions about the assistant's tools, servers and abilities, in four languages.

use crate::language::words;

/// Maximum number of words of a question that is answered without the model.
const MAX_QUESTION_WORDS: usize = 14;

/// Topic of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OverviewTopic {
    /// What the assistant can do.
    Abilities,
    /// Its tools.
    Tools,
    /// The connected servers.
    Servers,
}

/// Words that name tools, in all languages.
const TOOL_WORDS: &str = "tool tools werkzeug werkzeuge werkzeugen outil outils herramienta herramientas plugins functions \
     funktionen fonctions funciones";

/// Words that name servers, in all languages.
const SERVER_WORDS: &str = "server servers servern serveur serveurs servidor servidores connections connectors verbindungen \
     connexions conexiones";

/// Words with which people ask for all tools or servers. A question with any other word, such as `email`, asks for
/// something else, and the model answers it.
const FILLER_WORDS: &str = "what which whats s are is the your my do does you u have has got can could would i we me us use \
     using access to of for in on there here available connected list show tell name give see all any \
     please now currently right today mcp and about this that chat how many hi hello hey know kind sort \
     offer at with ready installed enabled active overview welche welcher welches was sind ist die der \
     das den dein deine deinen meine meinen hast habe haben habt du ihr ich wir kann kannst können \
     nutzen benutzen verwenden zur verfügung verfügbar verfügbare verfügbaren stehen dir mir gibt es \
     alle zeig zeige nenne liste auf bitte verbunden verbundene verbundenen angeschlossen gerade jetzt \
     hier für und hallo wie viele mal quel quels quelle quelles sont est les le la des tes vos mes ton \
     as tu avez vous ai je nous avons peux puis pouvez utiliser disponible disponibles montre montrez \
     moi donne tous toutes connecté connectés connectées svp plaît te il y que qu et bonjour combien de \
     d à sur ici dont disposes qué cuál cuáles son están está hay el los las tus mis su sus tienes tiene \
     tengo tenemos puedo puedes podemos usar utilizar conectado conectados conectadas muestra muéstrame \
     lista dime todas todos por favor ahora aquí para en hola cuántas cuántos dame";

/// Questions about abilities, as words, separated by commas. Each may have [`ABILITY_ENDINGS`].
const ABILITY_QUESTIONS: &str = "what can you do, what all can you do, what are you able to do, what are you capable of, \
     what are your capabilities, what are your abilities, what can i ask you, what can i ask, \
     what can i do here, what can i do with you, what do you do, how can you help, how can you help me, \
     what can you help with, what can you help me with, what can you do for me, tell me what you can do, \
     show me what you can do, was kannst du, was kannst du alles, was kannst du tun, \
     was kannst du alles tun, was kannst du für mich tun, was kannst du machen, was können sie, \
     was können sie für mich tun, wie kannst du mir helfen, wobei kannst du helfen, \
     wobei kannst du mir helfen, was sind deine fähigkeiten, que peux tu faire, \
     que peux tu faire pour moi, que pouvez vous faire, que sais tu faire, que savez vous faire, \
     qu est ce que tu peux faire, qu est ce que tu sais faire, qu est ce que vous pouvez faire, \
     tu peux faire quoi, tu sais faire quoi, comment peux tu m aider, quelles sont tes capacités, \
     qué puedes hacer, qué puedes hacer por mí, qué puede hacer, qué sabes hacer, que puedes hacer, \
     que sabes hacer, en qué puedes ayudarme, en qué me puedes ayudar, cómo puedes ayudarme, \
     cuáles son tus capacidades";

/// Words that may follow or precede a question about abilities.
const ABILITY_ENDINGS: &str = "hi hello hey hallo bonjour salut hola so and also und et y please bitte here hier ici aquí exactly \
     eigentlich denn now today all alles in this chat ok okay";

/// Returns what a question is about, if it asks for nothing but the tools, the servers or the abilities.
pub(crate) fn overview_topic(message: &str) -> Option<OverviewTopic> {
    let words = words(message);
    if words.is_empty() || words.len() > MAX_QUESTION_WORDS {
        return None;
    }
    if is_ability_question(&words) {
        return Some(OverviewTopic::Abilities);
    }
    let is_about = |topic: &str| words.iter().any(|word| has_word(topic, word));
    let is_plain =
        words.iter().all(|word| [FILLER_WORDS, TOOL_WORDS, SERVER_WORDS].iter().any(|list| has_word(list, word)));
    // One word is a search or a command, not a question.
    if !is_plain || words.len() < 2 {
        return None;
    }
    match (is_about(TOOL_WORDS), is_about(SERVER_WORDS)) {
        (true, _) => Some(OverviewTopic::Tools),
        (false, true) => Some(OverviewTopic::Servers),
        (false, false) => None,
    }
}

/// Returns whether a message speaks of tools or servers, so that a list of them can be its answer.
pub(crate) fn mentions_tools(message: &str) -> bool {
    words(message).iter().any(|word| has_word(TOOL_WORDS, word) || has_word(SERVER_WORDS, word))
}

fn is_ability_question(words: &[String]) -> bool {
    ABILITY_QUESTIONS.split(", ").any(|question| {
        let question: Vec<&str> = question.split(' ').collect();
        let start = words.windows(question.len()).position(|window| window.iter().eq(question.iter()));
        let is_filler = |word: &String| has_word(ABILITY_ENDINGS, word);
        start.is_some_and(|start| {
            words[..start].iter().all(is_filler) && words[start + question.len()..].iter().all(is_filler)
        })
    })
}

/// Returns whether a list of words has a word.
fn has_word(list: &str, word: &str) -> bool {
    list.split(' ').any(|other| other == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recognizes_questions_in_four_languages() {
        use OverviewTopic::{Abilities, Servers, Tools};
        for (question, topic) in [
            ("What tools do you have?", Tools),
            ("which tools can you use", Tools),
            ("List all available tools, please.", Tools),
            ("What MCP tools are available right now?", Tools),
            ("Hi! Which tools do you have access to?", Tools),
            ("Which servers are connected?", Servers),
            ("What MCP servers do I have?", Servers),
            ("What can you do?", Abilities),
            ("Hello, what can you do for me?", Abilities),
            ("how can you help me", Abilities),
            ("Welche Werkzeuge hast du?", Tools),
            ("Welche Tools stehen dir zur Verfügung?", Tools),
            ("Welche Server sind verbunden?", Servers),
            ("Was kannst du alles?", Abilities),
            ("Quels outils as-tu ?", Tools),
            ("Quels serveurs sont connectés ?", Servers),
            ("Que sais-tu faire ?", Abilities),
            ("Qu'est-ce que tu peux faire ?", Abilities),
            ("¿Qué herramientas tienes?", Tools),
            ("¿Qué servidores están conectados?", Servers),
            ("¿Qué puedes hacer?", Abilities),
        ] {
            assert_eq!(overview_topic(question), Some(topic), "{question}");
        }
    }

    #[test]
    fn leaves_other_questions_to_the_model() {
        for question in [
            "What tools do I need to build a shelf?",
            "Do you have a tool for sending emails?",
            "Which server is the fastest?",
            "List the files on the server",
            "What can you do about the noise?",
            "What can you tell me about Rome?",
            "Use the tool echo",
            "tools",
            "Is the server down?",
            "How do MCP servers work?",
            "What is an MCP server?",
            "Restart my servers",
            "",
        ] {
            assert_eq!(overview_topic(question), None, "{question}");
        }
    }

    #[test]
    fn finds_words_for_tools_and_servers() {
        for message in ["What MCP servers do I have?", "Are there tools for mail?", "Welches Werkzeug ist neu?"] {
            assert!(mentions_tools(message), "{message}");
        }
        for message in ["Explain what MCP is", "Who invented the World Wide Web?", "What can you help with?"] {
            assert!(!mentions_tools(message), "{message}");
        }
    }
}
