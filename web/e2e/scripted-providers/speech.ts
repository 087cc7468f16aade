/** Token usage of every complete answer. Input includes cached tokens. */
export const cost = { input: 120, cached: 20, output: 10 };

/** Signature that a provider adds to a reasoning block and expects back. */
export const seal = "c2VhbGVkIHRob3VnaHQ=";

/** An answer as a wire writes it: each method gives the bytes that go out next. */
export interface Speech {
  begin(): string;
  say(piece: string): string;
  think(piece: string): string;
  /** A call of a tool; `args` is its JSON text. */
  call(name: string, args: string): string;
  end(): string;
}

/** A part of an answer that grows, and what closes it. */
export interface Open {
  kind: "say" | "think";
  text: string;
}

/** Letters in one piece of an answer: odd, so that pieces end inside words and marks. */
const pieceLength = 7;

/** The text in pieces of some letters each. */
export function pieces(text: string): string[] {
  const letters = [...text];
  const count = Math.ceil(letters.length / pieceLength);
  return Array.from({ length: count }, (_, at) =>
    letters.slice(at * pieceLength, (at + 1) * pieceLength).join(""),
  );
}

export const frame = (data: object) => `data: ${JSON.stringify(data)}\n\n`;
export const named = (data: { type: string; [field: string]: unknown }) =>
  `event: ${data.type}\n${frame(data)}`;
