/**
 * Returns a function that removes Markdown syntax from pieces of an excerpt: emphasis, backticks, heading marks, table
 * lines.
 */
export function stripMarkup(excerpt: string): (piece: string) => string {
  const hasTable = /\|\s*:?-{3}/u.test(excerpt);
  return (piece) => {
    const words = piece.replace(/(?<!\s)\*\*|\*\*(?!\s)|`+|(?<=^|\s)#{1,6}\s/gu, "");
    // A bar outside of a table is text.
    return hasTable ? words.replace(/\s*\|(?:[\s|]|:?-{3,}:?)*/gu, " ") : words;
  };
}
