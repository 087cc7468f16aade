/** Language with a name for readers and the ending of its files. */
interface CodeLanguage {
  readonly name: string;
  readonly extension: string;
  /** Words after a fence that mean it, its extension included. */
  readonly words: readonly string[];
}

/** Known languages, by the name of their grammar. */
const LANGUAGES = {
  c: { name: "C", extension: "c", words: ["h"] },
  cpp: { name: "C++", extension: "cpp", words: ["c++", "cc", "cxx", "hpp"] },
  csharp: { name: "C#", extension: "cs", words: ["c#"] },
  css: { name: "CSS", extension: "css", words: [] },
  dart: { name: "Dart", extension: "dart", words: [] },
  diff: { name: "Diff", extension: "diff", words: ["patch"] },
  docker: { name: "Dockerfile", extension: "dockerfile", words: [] },
  elixir: { name: "Elixir", extension: "ex", words: ["exs"] },
  go: { name: "Go", extension: "go", words: ["golang"] },
  haskell: { name: "Haskell", extension: "hs", words: [] },
  hcl: { name: "HCL", extension: "tf", words: ["terraform"] },
  html: { name: "HTML", extension: "html", words: ["htm"] },
  ini: { name: "INI", extension: "ini", words: ["properties", "conf"] },
  java: { name: "Java", extension: "java", words: [] },
  javascript: { name: "JavaScript", extension: "js", words: ["jsx", "mjs", "cjs", "node"] },
  jsonc: { name: "JSON", extension: "json", words: ["json5", "jsonl"] },
  kotlin: { name: "Kotlin", extension: "kt", words: ["kts"] },
  lua: { name: "Lua", extension: "lua", words: [] },
  make: { name: "Makefile", extension: "mk", words: ["makefile"] },
  markdown: { name: "Markdown", extension: "md", words: [] },
  mermaid: { name: "Mermaid", extension: "mmd", words: [] },
  php: { name: "PHP", extension: "php", words: [] },
  powershell: { name: "PowerShell", extension: "ps1", words: ["pwsh"] },
  python: { name: "Python", extension: "py", words: ["python3"] },
  r: { name: "R", extension: "r", words: [] },
  ruby: { name: "Ruby", extension: "rb", words: [] },
  rust: { name: "Rust", extension: "rs", words: [] },
  scala: { name: "Scala", extension: "scala", words: [] },
  scss: { name: "SCSS", extension: "scss", words: ["sass"] },
  shellscript: { name: "Shell", extension: "sh", words: ["bash", "zsh", "shell", "console"] },
  sql: { name: "SQL", extension: "sql", words: ["postgresql", "postgres", "mysql", "sqlite"] },
  swift: { name: "Swift", extension: "swift", words: [] },
  toml: { name: "TOML", extension: "toml", words: [] },
  tsx: { name: "TypeScript", extension: "ts", words: ["typescript", "mts", "cts"] },
  xml: { name: "XML", extension: "xml", words: ["svg", "xhtml", "plist"] },
  yaml: { name: "YAML", extension: "yaml", words: ["yml"] },
} as const satisfies Record<string, CodeLanguage>;

/** Name of a grammar. */
export type GrammarName = keyof typeof LANGUAGES;

/** Name of a grammar that the worker reads. Diffs are read line by line; Mermaid stays plain, as it has its diagrams. */
export type ReadGrammar = Exclude<GrammarName, "diff" | "mermaid">;

const GRAMMARS: ReadonlyMap<string, GrammarName> = new Map(
  Object.entries(LANGUAGES).flatMap(([grammar, { extension, words }]) =>
    [grammar, extension, ...words].map((word) => [word, grammar as GrammarName] as const),
  ),
);

/** Returns the grammar that a word after a fence means. */
export function grammarOf(word: string): GrammarName | undefined {
  return GRAMMARS.get(word.toLowerCase());
}

/** Returns the name of a language, or undefined if it is not known. */
export function languageName(word: string): string | undefined {
  const grammar = grammarOf(word);
  return grammar && LANGUAGES[grammar].name;
}

/** Returns the ending of files in a language, by default that of plain text. */
export function extensionOf(word: string): string {
  const grammar = grammarOf(word);
  return grammar ? LANGUAGES[grammar].extension : "txt";
}
