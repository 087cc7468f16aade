/* oxlint-disable typescript/no-this-alias -- micromark gives its tokenizer as `this`, and the states are functions of their own */
import type { Extension as MdastExtension } from "mdast-util-from-markdown";
import type { Code, Construct, Extension, State, TokenizeContext } from "micromark-util-types";

/*
 * Formulas as models write them: \(a\) and $a$ in a line, \[a\] and $$a$$ in a line or in lines of their own. They are
 * kept as they were written, because Markdown would take their backslashes for escapes and their marks for emphasis.
 */

declare module "micromark-util-types" {
  interface TokenTypeMap {
    mathFlow: "mathFlow";
    mathText: "mathText";
    mathData: "mathData";
  }
}

const [BACKSLASH, BACKTICK, DOLLAR, PAREN_OPEN, BRACKET_OPEN] = [92, 96, 36, 40, 91] as const;
const CLOSERS: Readonly<Record<number, number>> = { [PAREN_OPEN]: 41, [BRACKET_OPEN]: 93 };

// Character codes of micromark: line endings are -5 to -3, a tab is -2, virtual spaces are -1, the end is null.
const isLineEnding = (code: Code): boolean => code !== null && code < -2;
const isSpace = (code: Code): boolean => code === -2 || code === -1 || code === 32;
const isBlank = (code: Code): boolean => code === null || isLineEnding(code) || isSpace(code);
const isDigit = (code: Code): boolean => code !== null && code >= 48 && code <= 57;
const isWord = (code: Code): boolean =>
  code !== null && code > 0 && /[\p{L}\p{N}]/u.test(String.fromCharCode(code));

/** Delimiters that do not occur in the rest of a text, per tokenizer. */
const missing = new WeakMap<TokenizeContext, Set<number>>();

function isMissing(context: TokenizeContext, delimiter: number): boolean {
  return missing.get(context)?.has(delimiter) ?? false;
}

/** Records a missing delimiter; otherwise each further opening one would scan to the end again. */
function remember(context: TokenizeContext, delimiter: number): void {
  const known = missing.get(context) ?? new Set();
  missing.set(context, known.add(delimiter));
}

/** Formula between \( and \) or \[ and \]. Without a letter or digit it is none: escaped brackets are more likely. */
const bracketMath: Construct = {
  name: "bracketMath",
  tokenize(effects, ok, nok) {
    const context = this;
    let close = 0;
    let isData = false;
    let hasWord = false;
    return start;

    function start(code: Code): State | undefined {
      effects.enter("mathText");
      effects.enter("mathData");
      isData = true;
      effects.consume(code);
      return opened;
    }
    function opened(code: Code): State | undefined {
      close = CLOSERS[code ?? 0] ?? 0;
      if (close === 0 || isMissing(context, close)) return nok(code);
      effects.consume(code);
      return inside;
    }
    function inside(code: Code): State | undefined {
      if (code === null) {
        remember(context, close);
        return nok(code);
      }
      if (isLineEnding(code)) return lineEnding(code);
      if (!isData) effects.enter("mathData");
      isData = true;
      hasWord ||= isWord(code);
      effects.consume(code);
      return code === BACKSLASH ? escaped : inside;
    }
    function escaped(code: Code): State | undefined {
      if (code === null || isLineEnding(code)) return inside(code);
      if (code === close && !hasWord) return nok(code);
      hasWord ||= isWord(code);
      effects.consume(code);
      if (code !== close) return inside;
      effects.exit("mathData");
      effects.exit("mathText");
      return ok;
    }
    function lineEnding(code: Code): State | undefined {
      if (isData) effects.exit("mathData");
      isData = false;
      effects.enter("lineEnding");
      effects.consume(code);
      effects.exit("lineEnding");
      return inside;
    }
  },
};

/**
 * Formula between $ and $ or $$ and $$. As in Pandoc, a single $ opens before a visible character and closes behind
 * one, and no digit follows it: "$5 and $6" are prices. It contains no code.
 */
const dollarMath: Construct = {
  name: "dollarMath",
  previous: (code) => code !== DOLLAR && code !== BACKSLASH && !isWord(code),
  tokenize(effects, ok, nok) {
    const context = this;
    let size = 0;
    let before: Code = null;
    let closing = 0;
    let isData = true;
    return start;

    function start(code: Code): State | undefined {
      effects.enter("mathText");
      effects.enter("mathData");
      return opening(code);
    }
    function opening(code: Code): State | undefined {
      if (code === DOLLAR) {
        size += 1;
        effects.consume(code);
        return opening;
      }
      // A missing run is identified by its number of dollars, which is no character code of a bracket.
      if (size > 2 || isMissing(context, size) || (size === 1 && isBlank(code))) return nok(code);
      return inside(code);
    }
    function inside(code: Code): State | undefined {
      if (code === null) {
        remember(context, size);
        return nok(code);
      }
      // Between "$5" and "`$name`" there is no formula.
      if (size === 1 && code === BACKTICK) return nok(code);
      if (isLineEnding(code)) {
        if (isData) effects.exit("mathData");
        isData = false;
        effects.enter("lineEnding");
        effects.consume(code);
        effects.exit("lineEnding");
        before = code;
        return inside;
      }
      if (!isData) effects.enter("mathData");
      isData = true;
      if (code === DOLLAR) {
        closing = 0;
        return dollars(code);
      }
      before = code;
      effects.consume(code);
      return code === BACKSLASH ? escaped : inside;
    }
    function escaped(code: Code): State | undefined {
      if (code === null || isLineEnding(code)) return inside(code);
      before = code;
      effects.consume(code);
      return inside;
    }
    function dollars(code: Code): State | undefined {
      if (code === DOLLAR) {
        closing += 1;
        effects.consume(code);
        return dollars;
      }
      const closes = closing === size && (size === 2 || (!isBlank(before) && !isDigit(code)));
      if (!closes) {
        // In "$5 and $6, so $x$" the prices are none.
        if (size === 1) return nok(code);
        before = DOLLAR;
        return inside(code);
      }
      effects.exit("mathData");
      effects.exit("mathText");
      return ok(code);
    }
  },
};

/** Next line of the same block, if not blank. */
const furtherLine: Construct = {
  partial: true,
  tokenize(effects, ok, nok) {
    const context = this;
    return start;

    function start(code: Code): State | undefined {
      if (code === null) return nok(code);
      effects.enter("lineEnding");
      effects.consume(code);
      effects.exit("lineEnding");
      return lineStart;
    }
    function lineStart(code: Code): State | undefined {
      if (context.parser.lazy[context.now().line]) return nok(code);
      if (!isSpace(code)) return code === null || isLineEnding(code) ? nok(code) : ok(code);
      effects.enter("linePrefix");
      return prefix(code);
    }
    function prefix(code: Code): State | undefined {
      if (isSpace(code)) {
        effects.consume(code);
        return prefix;
      }
      effects.exit("linePrefix");
      return code === null || isLineEnding(code) ? nok(code) : ok(code);
    }
  },
};

/**
 * Math block below a line of only \\[ or $$. It ends with the closing line, or before a blank line, which no formula
 * may contain, so that it never absorbs the rest of a text.
 */
const mathBlock: Construct = {
  name: "mathBlock",
  concrete: true,
  tokenize(effects, ok, nok) {
    const context = this;
    let opener: Code = null;
    let before: Code = null;
    let isClosed = false;
    return start;

    function start(code: Code): State | undefined {
      opener = code;
      effects.enter("mathFlow");
      effects.enter("mathData");
      effects.consume(code);
      return second;
    }
    function second(code: Code): State | undefined {
      if (code !== (opener === DOLLAR ? DOLLAR : BRACKET_OPEN)) return nok(code);
      effects.consume(code);
      return openerEnd;
    }
    function openerEnd(code: Code): State | undefined {
      if (isSpace(code)) {
        effects.consume(code);
        return openerEnd;
      }
      if (code !== null && !isLineEnding(code)) return nok(code);
      effects.exit("mathData");
      if (context.interrupt) return ok(code);
      return lineEnd(code);
    }
    function lineEnd(code: Code): State | undefined {
      if (code === null || isClosed) return end(code);
      return effects.check(furtherLine, nextLine, end)(code);
    }
    function nextLine(code: Code): State | undefined {
      effects.enter("lineEnding");
      effects.consume(code);
      effects.exit("lineEnding");
      before = null;
      return lineStart;
    }
    function lineStart(code: Code): State | undefined {
      effects.enter("mathData");
      return line(code);
    }
    function line(code: Code): State | undefined {
      if (code === null || isLineEnding(code)) {
        effects.exit("mathData");
        return lineEnd(code);
      }
      const pair = opener === DOLLAR ? [DOLLAR, DOLLAR] : [BACKSLASH, CLOSERS[BRACKET_OPEN]];
      if (before === pair[0] && code === pair[1]) isClosed = true;
      // The second of two backslashes escapes nothing.
      before = before === BACKSLASH ? null : code;
      effects.consume(code);
      return line;
    }
    function end(code: Code): State | undefined {
      effects.exit("mathFlow");
      return ok(code);
    }
  },
};

/** Syntax extension of micromark for formulas. */
export const math: Extension = {
  flow: { [BACKSLASH]: mathBlock, [DOLLAR]: mathBlock },
  text: { [BACKSLASH]: bracketMath, [DOLLAR]: dollarMath },
};

/** Extension that adds formulas to the syntax tree. */
export const mathFromMarkdown: MdastExtension = {
  enter: {
    mathFlow(token) {
      this.enter({ type: "math", value: "" }, token);
    },
    mathText(token) {
      this.enter({ type: "math", value: "" }, token);
    },
  },
  exit: { mathFlow: exitMath, mathText: exitMath },
};

type Handle = NonNullable<NonNullable<MdastExtension["exit"]>[string]>;

function exitMath(this: ThisParameterType<Handle>, token: Parameters<Handle>[0]): void {
  const node = this.stack.at(-1);
  if (node?.type === "math") node.value = this.sliceSerialize(token);
  this.exit(token);
}
