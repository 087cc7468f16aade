/**
 * Completes unfinished Markdown at the end of a growing text for display: open emphasis, code and links are closed, and
 * marks whose meaning depends on the next characters are held back, so that raw marks never flash.
 */
export function repairTail(text: string): string {
  const fence = openFence(text);
  if (fence) return holdBackClosingFence(text, fence);
  if (MATH_BLOCK.test(text.slice(lastBlankLine(text)))) return text;
  const held = holdBackUndecidedLine(text);
  const start = segmentStart(held);
  return held.slice(0, start) + closeInline(held.slice(start));
}

/** Open math block in the last lines without a blank one. */
const MATH_BLOCK =
  /(?:^|\n)[ \t>]*(?:(?:[-+*]|\d{1,9}[.)])[ \t]+)*(?:\\\[[ \t]*(?:\n(?:(?!\\\])[^])*)?|\$\$[ \t]*(?:\n(?:(?!\$\$)[^])*)?)$/u;

function lastBlankLine(text: string): number {
  const blank = text.lastIndexOf("\n\n");
  return blank < 0 ? 0 : blank + 2;
}

interface Fence {
  readonly mark: string;
  readonly length: number;
}

/** Finds the fenced code block that is open at the end of the text. */
function openFence(text: string): Fence | null {
  let open: Fence | null = null;
  for (const line of text.split("\n")) {
    // In a list item or quote, a fence is indented or marked.
    const match = /^(?:[ \t]*(?:>|[-+*]|\d{1,9}[.)])[ \t])*[ \t>]*(`{3,}|~{3,})(.*)$/u.exec(line);
    const marks = match?.[1];
    if (marks === undefined) continue;
    const rest = match?.[2] ?? "";
    if (!open) {
      if (!(marks.startsWith("`") && rest.includes("`")))
        open = { mark: marks.charAt(0), length: marks.length };
    } else if (marks.startsWith(open.mark) && marks.length >= open.length && rest.trim() === "") {
      open = null;
    }
  }
  return open;
}

function holdBackClosingFence(text: string, fence: Fence): string {
  const lineStart = text.lastIndexOf("\n") + 1;
  const line = text.slice(lineStart).trim();
  const isPartial = line !== "" && line === fence.mark.repeat(line.length) && line.length < fence.length;
  return isPartial ? text.slice(0, lineStart) : text;
}

/** Ambiguous last line of only marks: "-" may underline a heading, or start a list item or a rule. */
const UNDECIDED = /^[ \t>]*(?:[-+*_=#`~|: ]+|\d{1,9}[.)]?|[-+*][ \t]+\[[ xX]?\]?)[ \t]*$/u;

function holdBackUndecidedLine(text: string): string {
  const lineStart = text.lastIndexOf("\n") + 1;
  const line = text.slice(lineStart);
  if (line.trim() !== "" && UNDECIDED.test(line)) return withoutLooseTableHead(text.slice(0, lineStart));
  return withoutLooseTableHead(text);
}

/** Hides the first line of a table, which looks like a paragraph with bars until the next line is complete. */
function withoutLooseTableHead(text: string): string {
  const body = text.trimEnd();
  const lineStart = body.lastIndexOf("\n") + 1;
  const lineBefore = body.slice(body.lastIndexOf("\n", lineStart - 2) + 1, Math.max(lineStart - 1, 0));
  const isHead = /^\s*\|/u.test(body.slice(lineStart)) && !/^\s*\|/u.test(lineBefore);
  return isHead ? text.slice(0, lineStart) : text;
}

/** Returns the offset of the inline content at the end of the text. */
function segmentStart(text: string): number {
  const lines = text.split("\n");
  let start = text.length;
  for (let index = lines.length - 1; index >= 0; index -= 1) {
    const line = lines[index] ?? "";
    if (line.trim() === "") return Math.min(start, text.length);
    start -= line.length + (index === lines.length - 1 ? 0 : 1);
    const marker = /^[ \t]*(?:(?:[-+*]|\d{1,9}[.)])[ \t]+|#{1,6}[ \t]+|>[ \t]?|\|)+/u.exec(line);
    if (marker) return start + (line.trimStart().startsWith("|") ? lastCell(line) : marker[0].length);
  }
  return Math.max(start, 0);
}

/** Returns the offset of the last table cell; open markup ends with its cell. */
function lastCell(line: string): number {
  for (let index = line.length - 1; index > 0; index -= 1) {
    if (line[index] === "|" && line[index - 1] !== "\\") return index + 1;
  }
  return 0;
}

interface Open {
  readonly mark: string;
  /** Offset of the mark. */
  readonly at: number;
}

const isSpace = (char: string | undefined): boolean => char === undefined || /\s/u.test(char);
const isWord = (char: string | undefined): boolean => char !== undefined && /[\p{L}\p{N}]/u.test(char);
const isLink = ({ mark }: Open): boolean => mark.includes("[") || mark === "](";
const closing = (open: readonly Open[]): string =>
  open
    .toReversed()
    .map(({ mark }) => mark)
    .join("");

/** Closes the open markup of inline content. */
function closeInline(source: string): string {
  const math = openMath(source);
  if (math !== null) {
    // An open formula is shown as source. A backslash before a bracket would start another formula, so its marks become
    // character references.
    const before = source.slice(0, math);
    const rest = source.slice(math).replace(/\\$/u, "");
    return closeAround(before, rest.replaceAll(/[!-/:-@[-`{-~]/gu, reference));
  }
  const text = source.replace(/(?:[*_~`]+|!?\[|!|\\)$/u, (marks) => keepClosing(source, marks));
  const link = scan(text).findLast(isLink);
  if (link) return closeInline(dropUnfinishedLink(text, link));
  const open = scan(text);
  const last = open.at(-1);
  if (!last) return text;
  const body = text.trimEnd();
  // Marks around nothing would be visible.
  if (body.length <= last.at + last.mark.length) return closeInline(body.slice(0, last.at));
  return body + closing(open);
}

const reference = (mark: string): string => `&#${mark.charCodeAt(0)};`;

/** Closes the markup that is open before a text. */
function closeAround(before: string, text: string): string {
  const open = scan(before);
  const link = open.findLast(isLink);
  // Formula in the text of a link whose URL is still incomplete.
  if (link) return closeAround(dropUnfinishedLink(before, link), text);
  // Closing marks after a space would have no effect.
  return open.length > 0 ? (before + text).trimEnd() + closing(open) : before + text;
}

/** Keeps those marks at the very end that close something; opening ones wait for their content. */
function keepClosing(source: string, marks: string): string {
  const before = source.slice(0, -marks.length);
  const open = scan(before);
  const code = open.at(-1)?.mark.startsWith("`") ? open.at(-1)?.mark : undefined;
  if (code !== undefined) return marks === code || !marks.includes("`") ? marks : "";
  return /^[*_~]+$/u.test(marks) && !isSpace(before.at(-1)) && closesWhole(open, marks) ? marks : "";
}

/** Returns true if the marks close one or more open ones, innermost first, and nothing else. */
function closesWhole(open: readonly Open[], marks: string): boolean {
  return open.some((_, index) => closing(open.slice(index)) === marks);
}

/** Shows the text of a link with an incomplete URL, and nothing of an incomplete image. */
function dropUnfinishedLink(text: string, link: Open): string {
  if (link.mark === "![") return text.slice(0, link.at);
  if (link.mark === "[") return text.slice(0, link.at) + text.slice(link.at + 1);
  const opening = text.lastIndexOf("[", link.at);
  const isImage = text[opening - 1] === "!";
  return text.slice(0, isImage ? opening - 1 : opening) + (isImage ? "" : text.slice(opening + 1, link.at));
}

/** Inline formula, as `math.ts` parses it. */
const MATH =
  /\\\((?:[^\\]|\\[^)])*?\\\)|\\\[(?:[^\\]|\\[^\]])*?\\\]|\$\$(?!\$)(?:[^\\$]|\\[^]|\$(?!\$))*\$\$(?!\$)|\$(?![\s$])(?:[^\\$`]|\\[^])*?(?<!\s)\$(?![\d$])/uy;
/** Start of an inline formula. A digit after a dollar is a price until the closing dollar has arrived. */
const MATH_START = /\\[([]|\$\$?(?=[^\s\d$])/uy;
/** Maximum length of an open formula after a single dollar. */
const MAX_OPEN_DOLLAR = 100;

/** Returns the end of the formula at an offset, or the offset itself if there is none. */
function mathEnd(text: string, at: number): number {
  if (text[at] !== "\\" && (text[at] !== "$" || /[\p{L}\p{N}$]/u.test(text[at - 1] ?? ""))) return at;
  MATH.lastIndex = at;
  return MATH.test(text) ? MATH.lastIndex : at;
}

/** Returns the offset of an open formula, or null. */
function openMath(text: string): number | null {
  for (let index = 0; index < text.length;) {
    const char = text[index];
    const end = mathEnd(text, index);
    if (end > index) {
      index = end;
      continue;
    }
    if (char === "`") {
      const ticks = /^`+/u.exec(text.slice(index))?.[0].length ?? 1;
      const close = closingTicks(text, index + ticks, ticks);
      if (close < 0) return null;
      index = close;
      continue;
    }
    MATH_START.lastIndex = index;
    if (MATH_START.test(text) && !(char === "$" && /[\p{L}\p{N}$]/u.test(text[index - 1] ?? ""))) {
      const rest = text.slice(index);
      if (
        !rest.startsWith("$") ||
        rest.startsWith("$$") ||
        (rest.length <= MAX_OPEN_DOLLAR && !/[\n`]/u.test(rest))
      )
        return index;
    }
    index += char === "\\" ? 2 : 1;
  }
  return null;
}

/** Returns the open marks at the end of inline content, outermost first. */
function scan(text: string): Open[] {
  const open: Open[] = [];
  for (let index = 0; index < text.length;) {
    const char = text[index] ?? "";
    const math = mathEnd(text, index);
    if (math > index) {
      index = math;
    } else if (char === "\\") {
      index += 2;
    } else if (char === "`") {
      const ticks = /^`+/u.exec(text.slice(index))?.[0] ?? "`";
      const end = closingTicks(text, index + ticks.length, ticks.length);
      if (end < 0) return [...open, { mark: ticks, at: index }];
      index = end;
    } else if (char === "*" || char === "_" || char === "~") {
      index += takeRun(open, text, index);
    } else {
      index += takeBracket(open, text, index);
    }
  }
  return open;
}

function closingTicks(text: string, from: number, length: number): number {
  for (const match of text.slice(from).matchAll(/`+/gu)) {
    if (match[0].length === length) return from + match.index + length;
  }
  return -1;
}

/** Processes a run of one mark: closes and opens what it can, and returns its length. */
function takeRun(open: Open[], text: string, index: number): number {
  const char = text[index] ?? "";
  let end = index;
  while (text[end] === char) end += 1;
  const [before, after] = [text[index - 1], text[end]];
  const opens = !isSpace(after) && !(char === "_" && isWord(before));
  const closes = !isSpace(before) && !(char === "_" && isWord(after));
  let left = end - index;
  while (closes && left > 0) {
    const last = open.at(-1);
    if (!last || last.mark[0] !== char || last.mark.length > left) break;
    left -= last.mark.length;
    open.pop();
  }
  if (!opens || (char === "~" && left !== 2)) return end - index;
  while (left > 0) {
    const size = Math.min(left, 2);
    open.push({ mark: char.repeat(size), at: end - left });
    left -= size;
  }
  return end - index;
}

function takeBracket(open: Open[], text: string, index: number): number {
  const char = text[index];
  if (char === "[") {
    const isImage = text[index - 1] === "!";
    open.push({ mark: isImage ? "![" : "[", at: isImage ? index - 1 : index });
    return 1;
  }
  const link = open.findLastIndex(({ mark }) => mark === "[" || mark === "![");
  if (char !== "]" || link < 0) return 1;
  open.splice(link);
  // At the very end it is unknown whether a URL follows.
  if (index === text.length - 1) open.push({ mark: "](", at: index });
  if (text[index + 1] !== "(") return 1;
  const close = text.indexOf(")", index);
  const newline = text.indexOf("\n", index);
  if (close >= 0 && (newline < 0 || close < newline)) return close - index + 1;
  if (newline >= 0) return 1;
  open.push({ mark: "](", at: index });
  return text.length - index;
}
