import { grammarOf, type ReadGrammar } from "./code-languages";

/** Meaning of a piece of code, which gives it its colour. */
export const CODE_KINDS = ["keyword", "string", "number", "name", "comment"] as const;

type CodeKind = (typeof CODE_KINDS)[number] | "added" | "removed" | "hunk";

/** Text with its kind, null if it has none. All pieces together are the code. */
export type CodePiece = readonly [text: string, kind: CodeKind | null];

/** Longer code stays plain: each coloured piece is a DOM element. */
const MAX_LENGTH = 100_000;
const MAX_PIECES = 12_000;
/** Time limit per block. Ordinary code of 100 kB takes a second, and the first of a language as much again. */
const DEADLINE_MS = 5_000;
/** Number of results that are kept, so that a chat that is opened again is drawn at once. */
const MAX_KEPT = 200;

const kept = new Map<string, readonly CodePiece[] | null>();
const requested = new Map<string, Promise<readonly CodePiece[] | null>>();
let worker: Worker | null = null;
let lastId = 0;
/** Requests that wait for the worker. It reads one block after the other, each with a time limit of its own. */
const waiting: (() => Promise<void>)[] = [];
let isReading = false;

const keyOf = (language: string, text: string): string => `${grammarOf(language) ?? ""}\n${text}`;

/** Returns the pieces of code that is known; null if it stays plain, undefined if it has to be read. */
export function highlighted(language: string, text: string): readonly CodePiece[] | null | undefined {
  const grammar = grammarOf(language);
  if (grammar === undefined || grammar === "mermaid" || text.length > MAX_LENGTH) return null;
  return kept.get(keyOf(language, text));
}

/** Reads code; null if it stays plain because it takes too long, has too many pieces or no known language. */
export function highlight(language: string, text: string): Promise<readonly CodePiece[] | null> {
  const known = highlighted(language, text);
  const grammar = grammarOf(language);
  if (known !== undefined || grammar === undefined || grammar === "mermaid")
    return Promise.resolve(known ?? null);
  const key = keyOf(language, text);
  const before = requested.get(key);
  if (before) return before;
  const request = new Promise<readonly CodePiece[] | null>((resolve) => {
    waiting.push(async () => {
      const pieces = grammar === "diff" ? diffPieces(text) : await readInWorker(grammar, text);
      const result = pieces && pieces.length <= MAX_PIECES ? pieces : null;
      requested.delete(key);
      kept.set(key, result);
      const [oldest] = kept.keys();
      if (kept.size > MAX_KEPT && oldest !== undefined) kept.delete(oldest);
      resolve(result);
    });
  });
  requested.set(key, request);
  if (!isReading) void readWaiting();
  return request;
}

/**
 * Reads what waits, the last request first: a chat opens at its end, and rows that come in above are read upwards, so it
 * is the nearest to what is seen.
 */
async function readWaiting(): Promise<void> {
  isReading = true;
  // All blocks of the rows that are drawn now are requested first.
  await Promise.resolve();
  for (let next = waiting.pop(); next; next = waiting.pop()) await next();
  isReading = false;
}

/** Colours whole lines, with their line endings, so that their ground reaches from edge to edge. */
export function diffPieces(text: string): CodePiece[] {
  const lines = text.split(/(?<=\n)/u);
  // Within a hunk, a line that begins with +++ or --- was added or removed, unless the header of a file begins.
  let isInHunk = false;
  return lines.map((line, at) => {
    const beginsFile =
      /^(?:diff|index) /u.test(line) ||
      (line.startsWith("--- ") && lines[at + 1]?.startsWith("+++ ") === true);
    if (beginsFile) isInHunk = false;
    if (line.startsWith("@@")) isInHunk = true;
    const isHeader = beginsFile || line.startsWith("@@") || (!isInHunk && /^(?:\+\+\+|---)/u.test(line));
    if (isHeader) return [line, "hunk"];
    return [line, line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : null];
  });
}

function readInWorker(grammar: ReadGrammar, text: string): Promise<CodePiece[] | null> {
  lastId += 1;
  const request: HighlightRequest = { id: lastId, grammar, text };
  // The first call also loads the worker, and the first of a language its grammar; a slow network gets more time.
  const reading = (worker ??= new Worker(new URL("./highlight-worker.ts", import.meta.url), {
    type: "module",
  }));
  return new Promise((resolve) => {
    const settle = (runs: HighlightResponse["runs"]) => {
      clearTimeout(timer);
      reading.removeEventListener("message", receive);
      reading.removeEventListener("error", giveUp);
      resolve(runs && piecesOf(runs, text));
    };
    const giveUp = () => {
      reading.terminate();
      if (worker === reading) worker = null;
      settle(null);
    };
    const receive = ({ data }: MessageEvent<HighlightResponse | "ready">) => {
      if (data === "ready") {
        clearTimeout(timer);
        timer = setTimeout(giveUp, DEADLINE_MS);
      } else if (data.id === request.id) settle(data.runs);
    };
    let timer = setTimeout(giveUp, 4 * DEADLINE_MS);
    reading.addEventListener("message", receive);
    reading.addEventListener("error", giveUp);
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker has none
    reading.postMessage(request);
  });
}

/** Cuts the text itself, so that nothing but it can be shown. */
function piecesOf(runs: readonly number[], text: string): CodePiece[] {
  const pieces: CodePiece[] = [];
  let start = 0;
  for (let index = 0; index < runs.length; index += 2) {
    const end = start + (runs[index] ?? 0);
    pieces.push([text.slice(start, end), CODE_KINDS[runs[index + 1] ?? -1] ?? null]);
    start = end;
  }
  if (start < text.length) pieces.push([text.slice(start), null]);
  return pieces;
}

/** Request to the worker to read code. */
export interface HighlightRequest {
  readonly id: number;
  readonly grammar: ReadGrammar;
  readonly text: string;
}

/** Runs of code: the length of each and the index of its kind, one after the other; null if it cannot be read. */
export interface HighlightResponse {
  readonly id: number;
  readonly runs: readonly number[] | null;
}
