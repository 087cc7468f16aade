import { createJavaScriptRegexEngine } from "@shikijs/engine-javascript";
import {
  codeToTokensBase,
  createShikiPrimitiveAsync,
  type LanguageRegistration,
  type ShikiPrimitive,
} from "@shikijs/primitive";
import { CODE_KINDS, type HighlightRequest, type HighlightResponse } from "./highlight";

/*
 * Worker that reads code with the grammars of VS Code. Code that takes too long only blocks this worker, which is
 * terminated. Only numbers leave it: the lengths of pieces and their kinds.
 */

type Grammar = HighlightRequest["grammar"];
type Load = () => Promise<{ default: LanguageRegistration[] }>;

const grammars: Record<Grammar, Load> = {
  c: () => import("@shikijs/langs/c"),
  cpp: async () => ({ default: [...(await import("@shikijs/langs/c")).default, cpp] }),
  csharp: () => import("@shikijs/langs/csharp"),
  css: () => import("@shikijs/langs/css"),
  dart: () => import("@shikijs/langs/dart"),
  docker: () => import("@shikijs/langs/docker"),
  elixir: () => import("@shikijs/langs/elixir"),
  go: () => import("@shikijs/langs/go"),
  haskell: () => import("@shikijs/langs/haskell"),
  hcl: () => import("@shikijs/langs/hcl"),
  html: () => import("@shikijs/langs/html"),
  ini: () => import("@shikijs/langs/ini"),
  java: () => import("@shikijs/langs/java"),
  javascript: () => import("@shikijs/langs/javascript"),
  jsonc: () => import("@shikijs/langs/jsonc"),
  kotlin: () => import("@shikijs/langs/kotlin"),
  lua: () => import("@shikijs/langs/lua"),
  make: () => import("@shikijs/langs/make"),
  markdown: () => import("@shikijs/langs/markdown"),
  php: () => import("@shikijs/langs/php"),
  powershell: () => import("@shikijs/langs/powershell"),
  python: () => import("@shikijs/langs/python"),
  r: () => import("@shikijs/langs/r"),
  ruby: () => import("@shikijs/langs/ruby"),
  rust: () => import("@shikijs/langs/rust"),
  scala: () => import("@shikijs/langs/scala"),
  scss: () => import("@shikijs/langs/scss"),
  shellscript: () => import("@shikijs/langs/shellscript"),
  sql: () => import("@shikijs/langs/sql"),
  swift: () => import("@shikijs/langs/swift"),
  toml: () => import("@shikijs/langs/toml"),
  tsx: () => import("@shikijs/langs/tsx"),
  xml: () => import("@shikijs/langs/xml"),
  yaml: () => import("@shikijs/langs/yaml"),
};

/** C with the words of C++: the grammar of VS Code alone would weigh as much as fifteen others. */
const cpp: LanguageRegistration = {
  name: "cpp",
  scopeName: "source.cpp",
  patterns: [{ include: "source.c" }],
  repository: {},
  injections: {
    "L:source.cpp -comment -string": {
      patterns: [
        {
          match: String.raw`\b(?:alignas|auto|bool|catch|char(?:8|16|32)_t|class|co_await|co_return|co_yield|concept|consteval|constexpr|constinit|(?:const|dynamic|reinterpret|static)_cast|decltype|delete|explicit|export|false|final|friend|import|module|mutable|namespace|new|noexcept|nullptr|operator|override|private|protected|public|requires|template|this|throw|true|try|typeid|typename|using|virtual|wchar_t)\b`,
          name: "keyword.cpp",
        },
      ],
    },
  },
};

/** Scopes of each kind, in the order of `CODE_KINDS`. */
const scopes: readonly (readonly string[])[] = [
  [
    "keyword",
    "storage",
    "constant.language",
    "variable.language",
    "support.type.primitive",
    "support.type.builtin",
    "entity.name.tag",
    "markup.heading",
  ],
  ["string", "constant.character", "markup.inline.raw", "markup.fenced_code"],
  ["constant.numeric", "constant.other", "keyword.other.unit"],
  [
    "entity.name.function",
    "entity.name.type",
    "entity.name.class",
    "entity.name.namespace",
    "entity.other.attribute-name",
    "support.function",
    "support.class",
    "support.type.property-name",
    "meta.property-name",
  ],
  ["comment", "punctuation.definition.comment"],
];

/** Marks in code and what stands between strings, which have the colour of text. */
const plainScopes = [
  "keyword.operator.assignment",
  "keyword.operator.arithmetic",
  "keyword.operator.comparison",
  "keyword.operator.logical",
  "keyword.operator.relational",
  "keyword.operator.type",
  "keyword.operator.optional",
  "keyword.operator.ternary",
  "keyword.operator.spread",
  "keyword.operator.rest",
  "keyword.operator.bitwise",
  "keyword.operator.increment",
  "keyword.operator.decrement",
  "keyword.operator.math",
  "keyword.operator.key-value",
  "keyword.operator.namespace",
  "keyword.operator.member",
  "storage.type.function.arrow",
  "meta.template.expression",
  "meta.embedded",
];

/** Colours are how Shiki names what it found: #000001 is the first kind. */
const colorOf = (kind: number): string => `#00000${kind + 1}`;
const theme = {
  name: "kinds",
  settings: [
    { settings: { foreground: "#000000" } },
    ...scopes.map((scope, kind) => ({ scope: [...scope], settings: { foreground: colorOf(kind) } })),
    { scope: plainScopes, settings: { foreground: "#000000" } },
  ],
};

/** Lines that are longer stay plain. They are generated, for example by a bundler. */
const MAX_LINE_LENGTH = 2_000;

let shiki: Promise<ShikiPrimitive> | undefined;

async function load(grammar: Grammar): Promise<ShikiPrimitive> {
  shiki ??= createShikiPrimitiveAsync({
    themes: [theme],
    langs: [],
    // Expressions that JavaScript cannot express match nothing.
    engine: createJavaScriptRegexEngine({ forgiving: true }),
  });
  const primitive = await shiki;
  if (!primitive.getLoadedLanguages().includes(grammar)) {
    const { default: registrations } = await grammars[grammar]();
    // Languages within a language are coloured only if they came with it.
    await primitive.loadLanguage(...registrations.map((one) => ({ ...one, embeddedLangs: [] })));
  }
  return primitive;
}

function read(primitive: ShikiPrimitive, { grammar, text }: HighlightRequest): number[] {
  const lines = codeToTokensBase(primitive, text, {
    lang: grammar,
    theme: theme.name,
    tokenizeMaxLineLength: MAX_LINE_LENGTH,
    // A limit per line would cut the first one, for which the grammar is compiled; the text has one.
    tokenizeTimeLimit: 0,
  });
  const runs: number[] = [];
  let end = 0;
  const add = (length: number, kind: number) => {
    if (length <= 0) return;
    end += length;
    if (runs.at(-1) === kind) runs.splice(-2, 1, (runs.at(-2) ?? 0) + length);
    else runs.push(length, kind);
  };
  for (const token of lines.flat()) {
    // Line endings are in no token. White space takes the kind of what is before it.
    add(token.offset - end, runs.at(-1) ?? -1);
    const kind = CODE_KINDS.findIndex((_, index) => token.color === colorOf(index));
    add(token.content.length, token.content.trim() === "" ? (runs.at(-1) ?? -1) : kind);
  }
  return runs;
}

async function respond(request: HighlightRequest): Promise<void> {
  const send = (runs: HighlightResponse["runs"]) =>
    postMessage({ id: request.id, runs } satisfies HighlightResponse);
  try {
    const primitive = await load(request.grammar);
    // The time limit of the text begins here.
    postMessage("ready");
    send(read(primitive, request));
  } catch {
    send(null);
  }
}

addEventListener("message", ({ data }: MessageEvent<HighlightRequest>) => void respond(data));
