import { expect, test } from "vitest";
import { showInvisible } from "./show-invisible";

/** Written and shown texts; the server shows them in the same way. */
const shown: readonly [what: string, written: string, shown: string][] = [
  ["NUL", "a\0b", "a⟨U+0000⟩b"],
  ["bell", "a\u0007b", "a⟨U+0007⟩b"],
  ["a colour of a terminal", "\u001B[31mred\u001B[0m", "⟨U+001B⟩[31mred⟨U+001B⟩[0m"],
  ["a title of a terminal", "\u001B]0;root@host\u0007", "⟨U+001B⟩]0;root@host⟨U+0007⟩"],
  ["the same in one character", "\u009B2J", "⟨U+009B⟩2J"],
  ["backspace", "rm\b\bls", "rm⟨U+0008⟩⟨U+0008⟩ls"],
  ["delete", "a\u007Fb", "a⟨U+007F⟩b"],
  ["next line of another age", "a\u0085b", "a⟨U+0085⟩b"],
  ["soft hyphen", "a\u00ADb", "a⟨U+00AD⟩b"],
  ["right to left from here", "a\u202Eb", "a⟨U+202E⟩b"],
  ["embedding, and its end", "\u202Aa\u202C", "⟨U+202A⟩a⟨U+202C⟩"],
  ["isolate, and its end", "\u2066a\u2069", "⟨U+2066⟩a⟨U+2069⟩"],
  ["marks of direction", "\u200E\u200F\u061C", "⟨U+200E⟩⟨U+200F⟩⟨U+061C⟩"],
  ["space without width", "pass\u200Bword", "pass⟨U+200B⟩word"],
  ["word joiner", "a\u2060b", "a⟨U+2060⟩b"],
  ["byte order mark", "\uFEFFa", "⟨U+FEFF⟩a"],
  ["separators of lines and paragraphs", "a\u2028b\u2029", "a⟨U+2028⟩b⟨U+2029⟩"],
  ["fillers of Hangul", "\u115F\u1160\u3164", "⟨U+115F⟩⟨U+1160⟩⟨U+3164⟩"],
  ["vowel separator", "a\u180Eb", "a⟨U+180E⟩b"],
  ["annotations", "\uFFF9a\uFFFAb\uFFFB", "⟨U+FFF9⟩a⟨U+FFFA⟩b⟨U+FFFB⟩"],
  ["tags that spell hi", "a\u{E0068}\u{E0069}\u{E007F}", "a⟨U+E0068⟩⟨U+E0069⟩⟨U+E007F⟩"],
  ["a language tag", "\u{E0001}", "⟨U+E0001⟩"],
  ["selectors that stand for bytes", "😀\u{E0158}\u{E01EF}", "😀⟨U+E0158⟩⟨U+E01EF⟩"],
  ["invisible operators", "f\u2061x\u2062y", "f⟨U+2061⟩x⟨U+2062⟩y"],
  ["a lone carriage return", "a\rb", "a⟨U+000D⟩b"],
];

test.each(shown)("%s is made visible", (_, written, visible) => {
  expect(showInvisible(written)).toBe(visible);
});

test("all other text stays as it is", () => {
  const plain = "Grüße,\tسلام\r\n👩\u200D👧 ❤\uFE0F क्\u200Dष";
  expect(showInvisible(plain)).toBe(plain.replace("\r\n", "\n"));
});
