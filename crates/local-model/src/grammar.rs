//! Grammars that constrain the model's output to tool calls and JSON.

use std::fmt::Write as _;
use std::sync::Arc;

use domain::model::ToolSpec;
use llguidance::api::TopLevelGrammar;
use llguidance::{Matcher, ParserFactory};
use serde_json::{Value, json};
use toktrie::{InferenceCapabilities, TokEnv, TokRxInfo, TokTrie, TokenId, TokenizerEnv};

use crate::tokenizer::{TokenType, Tokenizer};

/// A grammar or vocabulary that cannot be compiled, as the library describes it.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct GrammarError(String);

/// Compiler of grammars for one vocabulary.
pub(crate) struct GrammarCompiler {
    factory: ParserFactory,
}

struct GrammarTokenizer {
    trie: TokTrie,
    tokenizer: Arc<Tokenizer>,
}

impl TokenizerEnv for GrammarTokenizer {
    fn tok_trie(&self) -> &TokTrie {
        &self.trie
    }

    fn tokenize_bytes(&self, bytes: &[u8]) -> Vec<TokenId> {
        self.trie.tokenize_with_greedy_fallback(bytes, |text| self.tokenizer.encode_marked(text))
    }
}

impl GrammarCompiler {
    /// Creates a compiler for a vocabulary.
    pub(crate) fn new(tokenizer: Arc<Tokenizer>) -> Result<Self, GrammarError> {
        let token_bytes: Vec<Vec<u8>> = tokenizer
            .kinds()
            .iter()
            .enumerate()
            .map(|(id, kind)| match kind {
                TokenType::Control => [&[TokTrie::SPECIAL_TOKEN_MARKER], tokenizer.bytes(id as u32)].concat(),
                _ => tokenizer.bytes(id as u32).to_vec(),
            })
            .collect();
        let trie = TokTrie::from(&TokRxInfo::new(token_bytes.len() as u32, tokenizer.turn_end()), &token_bytes);
        let environment: TokEnv = Arc::new(GrammarTokenizer { trie, tokenizer });
        // Forced tokens save some 60 % of the decoding steps of a call.
        let capabilities = InferenceCapabilities { ff_tokens: true, ..InferenceCapabilities::default() };
        let slices = llguidance::earley::SlicedBiasComputer::general_slices();
        let mut factory =
            ParserFactory::new(&environment, capabilities, &slices).map_err(|error| GrammarError(error.to_string()))?;
        // The library would print its warnings to standard error.
        factory.quiet();
        Ok(Self { factory })
    }

    /// Returns a matcher for one call of one of `tools` (at least one), with arguments that fit its schema. If a
    /// schema cannot be compiled, any object is accepted for that tool.
    pub(crate) fn compile_call(&self, tools: &[&ToolSpec]) -> Result<Matcher, GrammarError> {
        let mut schemas: Vec<Value> = tools.iter().map(|tool| arguments_schema(&tool.input_schema)).collect();
        // Usually all schemas compile; only otherwise is each one tried alone to find the bad ones.
        if let Ok(matcher) = self.compile(&call_grammar(tools, &schemas)) {
            return Ok(matcher);
        }
        for (tool, schema) in tools.iter().zip(&mut schemas) {
            if let Err(error) = self.compile(&call_grammar(&[tool], std::slice::from_ref(schema))) {
                tracing::debug!(tool = tool.name, %error, "failed to compile the schema of a tool");
                *schema = json!({ "type": "object" });
            }
        }
        self.compile(&call_grammar(tools, &schemas))
    }

    /// Returns a matcher that accepts one JSON text that fits `schema`.
    pub(crate) fn compile_json(&self, schema: &Value) -> Result<Matcher, GrammarError> {
        let mut schema = schema.clone();
        if let Value::Object(fields) = &mut schema {
            fields.insert("x-guidance".to_owned(), spacing());
        }
        self.compile(&format!("start: %json {schema}\n"))
    }

    fn compile(&self, grammar: &str) -> Result<Matcher, GrammarError> {
        let grammar = TopLevelGrammar::from_lark(grammar.to_owned());
        let matcher = Matcher::new(self.factory.create_parser(grammar));
        matcher.get_error().map_or(Ok(matcher), |reason| Err(GrammarError(reason)))
    }
}

/// Returns the grammar of a call in the three forms that models write: the trained one, a code fence, and a bare
/// object.
fn call_grammar(tools: &[&ToolSpec], schemas: &[Value]) -> String {
    let mut grammar =
        String::from("start: \"<tool_call>\\n\" call \"\\n</tool_call>\" | \"```json\\n\" call \"\\n```\" | call\n");
    let names: Vec<String> = (0..tools.len()).map(|index| format!("tool_{index}")).collect();
    // Writing to a string cannot fail.
    let _ = writeln!(grammar, "call: {}", names.join(" | "));
    for (index, (tool, schema)) in tools.iter().zip(schemas).enumerate() {
        let opening = Value::from(format!("{{\"name\": {}, \"arguments\": ", Value::from(tool.name.as_str())));
        let _ = writeln!(grammar, "tool_{index}: {opening} arguments_{index} \"}}\"");
        let _ = writeln!(grammar, "arguments_{index}: %json {schema}");
    }
    grammar
}

/// Returns a tool's schema without additional properties, and with the spaces that models write.
fn arguments_schema(schema: &Value) -> Value {
    let mut schema = match schema {
        Value::Object(fields) => fields.clone(),
        _ => serde_json::Map::new(),
    };
    schema.insert("type".to_owned(), "object".into());
    if schema.get("properties").is_some_and(Value::is_object) {
        // Without it a small model invents arguments. A schema that says nothing about properties means any object.
        schema.entry("additionalProperties").or_insert(false.into());
    }
    schema.insert("x-guidance".to_owned(), spacing());
    Value::Object(schema)
}

/// Returns the grammar's options: the spaces that models write, and no error for keywords without a grammar.
fn spacing() -> Value {
    json!({ "whitespace_flexible": false, "item_separator": ", ", "key_separator": ": ", "lenient": true })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str, input_schema: Value) -> ToolSpec {
        ToolSpec { name: name.to_owned(), description: String::new(), input_schema }
    }

    fn grammars() -> (GrammarCompiler, TokEnv) {
        let grammars = GrammarCompiler::new(Arc::new(crate::tests::tokenizer())).unwrap();
        let environment = grammars.factory.tok_env().clone();
        (grammars, environment)
    }

    /// Returns whether the grammar accepts the whole `text`.
    fn accepts(matcher: &Matcher, environment: &TokEnv, text: &str) -> bool {
        let mut matcher = matcher.deep_clone();
        let tokens = environment.tokenize(text);
        matcher.try_consume_tokens(&tokens).is_ok_and(|taken| taken == tokens.len())
            && matcher.is_accepting().is_ok_and(|accepting| accepting)
    }

    #[test]
    fn call_follows_schema_in_every_form() {
        let (grammars, environment) = grammars();
        let schema = json!({
            "type": "object",
            "properties": { "city": { "type": "string" }, "days": { "$ref": "#/$defs/days" } },
            "required": ["city"],
            "$defs": { "days": { "type": "integer" } },
        });
        let tools = [tool("weather", schema), tool("now", json!({ "type": "object", "properties": {} }))];
        let matcher = grammars.compile_call(&tools.iter().collect::<Vec<_>>()).unwrap();
        let ok = r#"{"name": "weather", "arguments": {"city": "Rome", "days": 3}}"#;
        for text in [ok.to_owned(), format!("<tool_call>\n{ok}\n</tool_call>"), format!("```json\n{ok}\n```")] {
            assert!(accepts(&matcher, &environment, &text), "{text}");
        }
        assert!(accepts(&matcher, &environment, r#"{"name": "now", "arguments": {}}"#));
        for text in [
            r#"{"name": "weather", "arguments": {}}"#,
            r#"{"name": "weather", "arguments": {"city": "Rome", "days": "3"}}"#,
            r#"{"name": "weather", "arguments": {"city": "Rome", "mood": "good"}}"#,
            r#"{"name": "shell", "arguments": {}}"#,
            "It is sunny.",
        ] {
            assert!(!accepts(&matcher, &environment, text), "{text}");
        }
    }

    #[test]
    fn accepts_any_object_for_uncompilable_schema() {
        let (grammars, environment) = grammars();
        let strict = json!({ "type": "object", "properties": { "a": { "type": "integer" } }, "required": ["a"] });
        let tools = [
            tool("odd", json!({ "type": "object", "properties": { "x": { "$ref": "https://example.com/x.json" } } })),
            tool("strict", strict),
            tool("nonsense", json!("no schema at all")),
        ];
        let matcher = grammars.compile_call(&tools.iter().collect::<Vec<_>>()).unwrap();
        assert!(accepts(&matcher, &environment, r#"{"name": "odd", "arguments": {"x":"y"}}"#));
        assert!(accepts(&matcher, &environment, r#"{"name": "nonsense", "arguments": {}}"#));
        assert!(accepts(&matcher, &environment, r#"{"name": "strict", "arguments": {"a": 1}}"#));
        assert!(!accepts(&matcher, &environment, r#"{"name": "strict", "arguments": {"a": "1"}}"#));
    }

    #[test]
    fn forces_tokens_without_alternatives() {
        let (grammars, environment) = grammars();
        let mut matcher =
            grammars.compile_call(&[&tool("now", json!({ "type": "object", "properties": {} }))]).unwrap();
        matcher.consume_tokens(&environment.tokenize("{\"")).unwrap();
        let forced: Vec<u8> =
            matcher.consume_ff_tokens().iter().flat_map(|token| environment.tok_trie().decode(&[*token])).collect();
        assert_eq!(String::from_utf8(forced).unwrap(), "name\": \"now\", \"arguments\": {}}");
    }
}
