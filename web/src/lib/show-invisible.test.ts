import { expect, test } from "vitest";
import { showInvisible } from "./show-invisible";

test("what cannot be seen is made visible, and all other text stays as it is", () => {
  expect(showInvisible("a\u202Eb\u200Bc\u0007")).toBe("a⟨U+202E⟩b⟨U+200B⟩c⟨U+0007⟩");
  expect(showInvisible("hi\u{E0041}\u{E0042}")).toBe("hi⟨U+E0041⟩⟨U+E0042⟩");
  const plain = "Grüße,\tسلام\r\n👩\u200D👧 ❤\uFE0F";
  expect(showInvisible(plain)).toBe(plain.replace("\r\n", "\n"));
});
