import { expect, test, vi } from "vitest";
import { page, userEvent } from "vitest/browser";
import { renderWithQueries } from "@/testing/render";
import { Elicitation } from "./elicitation";

async function renderRequest(request: unknown) {
  const onAnswer = vi.fn<(action: string, content?: unknown) => Promise<void>>(async () => undefined);
  await renderWithQueries(<Elicitation server="weather" request={request} onAnswer={onAnswer} />);
  return onAnswer;
}

const button = (name: string) => page.getByRole("button", { name });
/** The label of a required field says so. */
const city = page.getByRole("textbox", { name: "City required" });

const form = {
  mode: "form",
  message: "Where are you?",
  fields: [
    { kind: "text", name: "city", title: "City", required: true, maxLength: 50 },
    { kind: "text", name: "mail", title: "Email", format: "email", maxLength: 50 },
  ],
};

test("a form is sent by its button, and only when it is valid", async () => {
  const onAnswer = await renderRequest(form);
  await button("Send answer").click();
  await expect.element(city).toHaveFocus();
  await city.fill("Bern");
  await page.getByRole("textbox", { name: "Email" }).fill("nobody");
  await userEvent.keyboard("{Enter}");
  await button("Send answer").click();
  await expect
    .element(page.getByRole("textbox", { name: "Email" }))
    .toHaveAccessibleDescription("Enter an email address");
  expect(onAnswer).not.toHaveBeenCalled();
  await page.getByRole("textbox", { name: "Email" }).fill("a@b.example");
  await button("Send answer").click();
  expect(onAnswer.mock.calls).toEqual([["accept", { city: "Bern", mail: "a@b.example" }]]);
});

test.each([
  ["Decline", "decline"],
  ["Cancel", "cancel"],
])("%s is its own answer", async (name, action) => {
  const onAnswer = await renderRequest(form);
  await button(name).click();
  expect(onAnswer.mock.calls).toEqual([[action, undefined]]);
});

test("a failed answer says why and can be repeated", async () => {
  const onAnswer = vi.fn<() => Promise<void>>().mockRejectedValueOnce(new Error("no network"));
  await renderWithQueries(<Elicitation server="weather" request={form} onAnswer={onAnswer} />);
  await button("Decline").click();
  await expect.element(page.getByRole("alert")).toBeVisible();
  await button("Decline").click();
  expect(onAnswer).toHaveBeenCalledTimes(2);
});

test("a page to open shows its whole address and warns of letters that imitate others", async () => {
  await renderRequest({
    mode: "url",
    message: "",
    url: "https://xn--pple-43d.example/login",
    punycode: true,
  });
  await expect.element(page.getByText("https://xn--pple-43d.example/login")).toBeVisible();
  await expect.element(page.getByText(/can imitate other letters/u)).toBeVisible();
  await expect
    .element(page.getByRole("link", { name: "Open in a new window" }))
    .toHaveAttribute("rel", "noopener noreferrer");
});

test("opening the page is the answer, unless the call waits for the user's return", async () => {
  const stay = (event: Event) => event.preventDefault();
  document.addEventListener("click", stay);
  const url = { mode: "url", message: "", url: "https://a.example/" };
  const agreed = await renderRequest(url);
  await page.getByRole("link", { name: "Open in a new window" }).click();
  expect(agreed.mock.calls).toEqual([["accept", undefined]]);
  document.removeEventListener("click", stay);
});

test("an unknown kind of request shows nothing", async () => {
  await renderRequest({ mode: "telepathy" });
  expect(document.querySelector("section")).toBeNull();
});
