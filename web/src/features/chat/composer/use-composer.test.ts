import { expect, test } from "vitest";
import { mentionsFiles } from "./use-composer";

test.each(["My DRIVE", "google Drive please", "WorkCover form", "the folder", "list files", "Documents?"])(
  "%s asks for files",
  (message) => {
    expect(mentionsFiles(message)).toBe(true);
  },
);

test.each(["What time is it?", "a file", "document", ""])("%s does not", (message) => {
  expect(mentionsFiles(message)).toBe(false);
});
