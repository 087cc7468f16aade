import { expect, test } from "vitest";
import { readEmailLink } from "./email-link";

const site = "https://chat.example";
const code = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";

test("takes the parameters of a link out of the address", () => {
  const tokens = readEmailLink(`${site}/?chat=1#access_token=a&refresh_token=r&type=magiclink`);
  expect(tokens?.params.get("access_token")).toBe("a");
  expect(tokens?.cleanUrl).toBe("/?chat=1");
  const exchange = readEmailLink(`${site}/auth?code=${code}`);
  expect(exchange?.params.get("code")).toBe(code);
  expect(exchange?.cleanUrl).toBe("/auth");
  const refusal = readEmailLink(`${site}/?error=a&error_code=b&error_description=c#error=a&error_code=b&sb=`);
  expect(refusal?.params.get("error_code")).toBe("b");
  expect(refusal?.cleanUrl).toBe("/");
});

test.each(["/", "/?chat=1", "/#top", "/?google-drive=linked", "/?code=abc&state=1"])(
  "leaves %s alone",
  (rest) => {
    expect(readEmailLink(site + rest)).toBeUndefined();
  },
);
