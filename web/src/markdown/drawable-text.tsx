import { Fragment, type ReactNode } from "react";

/** Words up to this length fit every layout without a break. */
const MAX_WORD_LENGTH = 200;
/** Combining marks per letter. Scripts and emoji need up to six; thousands take the layout engine minutes. */
const MAX_COMBINING_MARKS = 8;

const LONG_WORD = new RegExp(`\\S{${MAX_WORD_LENGTH}}(?=\\S)`, "u");
/** Piece of a long word, up to a possible break: never within a character or before a combining mark. */
const WORD_PIECE = new RegExp(`\\S{1,${MAX_WORD_LENGTH}}[\\p{M}\\u200c\\u200d]*`, "gu");
const LONG_RUN_OF_MARKS = new RegExp(`(\\p{M}{${MAX_COMBINING_MARKS}})\\p{M}+`, "gu");
const MANY_MARKS = new RegExp(`\\p{M}{${MAX_COMBINING_MARKS + 1}}`, "u");

/** Removes excess combining marks, for display only. */
export function withoutExcessMarks(text: string): string {
  return MANY_MARKS.test(text) ? text.replaceAll(LONG_RUN_OF_MARKS, "$1") : text;
}

/**
 * Prepares a text for the layout engine, which takes quadratic time in the length of a word: long words get possible
 * breaks. Copied text does not contain them.
 */
export function drawable(source: string): ReactNode {
  const text = withoutExcessMarks(source);
  if (text.length <= MAX_WORD_LENGTH || !LONG_WORD.test(text)) return text;
  return text.split(/(\S{200,})/u).map((piece, index) =>
    // Words and separators alternate.
    index % 2 === 0 ? piece : <LongWord key={index} word={piece} />,
  );
}

function LongWord({ word }: { word: string }) {
  return (word.match(WORD_PIECE) ?? [word]).map((piece, index) => (
    <Fragment key={index}>
      {index > 0 && <wbr />}
      {piece}
    </Fragment>
  ));
}
