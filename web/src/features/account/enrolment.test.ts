import { expect, test, vi } from "vitest";

vi.mock("@/lib/session", () => ({ auth: {} }));
const { inGroups, pictureOf } = await import("./enrolment");

test("a secret is shown in fours", () => {
  expect(inGroups("ABCDEFGH")).toBe("ABCD EFGH");
  expect(inGroups("ABCDEFGHI")).toBe("ABCD EFGH I");
});

test("nothing in the picture ends its address", () => {
  const svg = '<svg fill="#000"><path d="M0 0"/></svg>';
  const address = pictureOf(`data:image/svg+xml;utf-8,${svg}`);
  expect(address).not.toContain("#");
  expect(decodeURIComponent(address.slice(address.indexOf(",") + 1))).toBe(svg);
});
