//! Language of a message, for the few texts that this program writes in place of the model.

/// A language in which this program can write those texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    English,
    German,
    French,
    Spanish,
}

impl Language {
    /// Returns the one of `texts` in this language.
    pub(crate) fn choose<T: Copy>(self, texts: &[(Self, T); 4]) -> T {
        let text = texts.iter().find(|(language, _)| *language == self);
        text.unwrap_or(&texts[0]).1
    }
}

/// Frequent words that tell a language from the others here.
const FREQUENT_WORDS: [(Language, &[&str]); 4] = [
    // First, because English is the language of a text with as many words of another one: "Los Angeles".
    (
        Language::English,
        &[
            "the", "what", "is", "are", "how", "of", "my", "you", "your", "show", "to", "and", "with", "for", "please",
            "where", "which", "who", "this", "that", "it", "from", "can", "i",
        ],
    ),
    (
        Language::German,
        &[
            "der",
            "das",
            "und",
            "ist",
            "ich",
            "du",
            "wir",
            "welche",
            "welcher",
            "welches",
            "kannst",
            "kann",
            "bitte",
            "mir",
            "mich",
            "dir",
            "dein",
            "deine",
            "ein",
            "eine",
            "einen",
            "nicht",
            "auf",
            "für",
            "mit",
            "von",
            "wie",
            "zeig",
            "zeige",
            "sind",
            "hast",
            "gibt",
            "gib",
            "lies",
            "wer",
            "wann",
            "wo",
            "zu",
            "im",
            "dem",
            "den",
            "werkzeuge",
            "alles",
            "öffne",
            "suche",
            "schreibe",
            "lösche",
        ],
    ),
    (
        Language::French,
        &[
            "le", "les", "des", "et", "est", "je", "tu", "vous", "nous", "quel", "quels", "quelle", "quelles", "une",
            "avec", "pour", "dans", "sur", "peux", "pouvez", "sais", "moi", "ton", "tes", "mon", "mes", "fichier",
            "outils", "outil", "serveurs", "sont", "montre", "lis", "ouvre", "cherche", "du", "au", "aux", "faire",
            "ce", "cette", "à", "il", "qui", "que",
        ],
    ),
    (
        Language::Spanish,
        &[
            "el",
            "los",
            "las",
            "y",
            "es",
            "yo",
            "tú",
            "usted",
            "qué",
            "cuál",
            "cuáles",
            "que",
            "una",
            "con",
            "para",
            "puedes",
            "puede",
            "sabes",
            "mi",
            "mis",
            "tus",
            "archivo",
            "herramientas",
            "servidores",
            "están",
            "tienes",
            "muestra",
            "lee",
            "abre",
            "busca",
            "del",
            "hay",
            "por",
            "favor",
            "hacer",
            "quién",
            "cómo",
            "dime",
        ],
    ),
];

/// Returns the language with the most frequent words in a text; English without any.
pub(crate) fn detect_language(text: &str) -> Language {
    let words = words(text);
    let count = |frequent: &[&str]| words.iter().filter(|word| frequent.contains(&word.as_str())).count();
    let mut best = (Language::English, 0);
    for (language, frequent) in FREQUENT_WORDS {
        let found = count(frequent);
        if found > best.1 {
            best = (language, found);
        }
    }
    best.0
}

/// Returns the words of a text in lower case, without punctuation.
pub(crate) fn words(text: &str) -> Vec<String> {
    words_with_ends(text).into_iter().map(|(word, _)| word).collect()
}

/// Returns the words of a text in lower case, without punctuation, each with the index of the byte after it.
pub(crate) fn words_with_ends(text: &str) -> Vec<(String, usize)> {
    let mut end = 0;
    text.split_inclusive(|character: char| !character.is_alphanumeric())
        .filter_map(|piece| {
            let word = piece.trim_end_matches(|character: char| !character.is_alphanumeric());
            let end_of_word = end + word.len();
            end += piece.len();
            (!word.is_empty()).then(|| (word.to_lowercase(), end_of_word))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn detects_language_of_short_questions() {
        for (text, language) in [
            ("Which tools do you have?", Language::English),
            ("Read the file", Language::English),
            ("Was kannst du alles?", Language::German),
            ("Lies die Datei", Language::German),
            ("Quels outils as-tu ?", Language::French),
            ("Que sais-tu faire ?", Language::French),
            ("¿Qué puedes hacer?", Language::Spanish),
            ("¿Qué herramientas tienes?", Language::Spanish),
            ("ls", Language::English),
            ("What is the weather in Los Angeles?", Language::English),
            ("Wie ist das Wetter in Los Angeles?", Language::German),
        ] {
            assert_eq!(detect_language(text), language, "{text}");
        }
    }
}
