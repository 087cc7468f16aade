import assert from "node:assert/strict";
import { test } from "node:test";
import { type AppPage, eventually } from "./app-page.ts";
import { startFixture } from "./fixture.ts";
import { hold, say } from "./scripted-model.ts";

const fixture = await startFixture();
const words = (count: number): string => Array.from({ length: count }, (_, at) => `word${at} `).join("");

/** Components that React has rendered since the last look, by the part of the page that they draw. */
interface Renders {
  /** In the form with the message field. */
  composer: number;
  /** In the rows of messages, by the id of the message. */
  rows: Record<string, number>;
}

/** What React's developer tools read of a node of its tree. */
interface Fiber {
  tag: number;
  flags: number;
  child: Fiber | null;
  sibling: Fiber | null;
  alternate: Fiber | null;
  stateNode: unknown;
}

/** Counts what React renders, as its developer tools do; before the page is loaded. */
async function countRenders({ page }: AppPage): Promise<void> {
  await page.addInitScript(() => {
    const hostElement = 5;
    const components = new Set([0, 1, 11, 14, 15]);
    const performedWork = 1;
    const renders: Renders = { composer: 0, rows: {} };

    function elementOf(fiber: Fiber): Element | null {
      for (let at: Fiber | null = fiber; at; at = at.child)
        if (at.tag === hostElement) return at.stateNode as Element;
      return null;
    }

    function record(fiber: Fiber): void {
      const element = elementOf(fiber);
      const row = element?.closest<HTMLElement>("[data-message]")?.dataset["message"];
      if (row !== undefined) renders.rows[row] = (renders.rows[row] ?? 0) + 1;
      if (element?.closest("[data-composer]")) renders.composer += 1;
    }

    function visit(parent: Fiber): void {
      // What was skipped still has the children of the last time.
      if (parent.alternate !== null && parent.alternate.child === parent.child) return;
      for (let fiber = parent.child; fiber; fiber = fiber.sibling) {
        if (components.has(fiber.tag) && (fiber.flags & performedWork) !== 0) record(fiber);
        visit(fiber);
      }
    }

    Object.assign(globalThis, {
      renders,
      __REACT_DEVTOOLS_GLOBAL_HOOK__: {
        supportsFiber: true,
        inject: () => 1,
        onCommitFiberRoot: (_: number, root: { current: Fiber }) => visit(root.current),
        onCommitFiberUnmount: () => undefined,
        onPostCommitFiberRoot: () => undefined,
      },
    });
  });
}

/** Returns what was rendered since the last call. */
function rendersSince({ page }: AppPage): Promise<Renders> {
  return page.evaluate(() => {
    const { renders } = globalThis as unknown as { renders: Renders };
    const since = { composer: renders.composer, rows: renders.rows };
    renders.composer = 0;
    renders.rows = {};
    return since;
  });
}

test("a streaming answer renders its own row alone, and typing meanwhile renders no row at all", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  await account.fill(
    await account.newChat(),
    Array.from({ length: 40 }, (_, at) => `Message ${at}`),
  );
  await countRenders(appPage);
  await appPage.open();
  const pauses = [1, 2, 3].map(() => Promise.withResolvers<void>());
  const [begun, typed, ended] = pauses.map(({ promise }) => hold(promise));
  assert.ok(begun && typed && ended);
  fixture.model.answer(
    say("It begins here."),
    begun,
    say(`\n\n${words(200)}And here it pauses.`, 1),
    typed,
    say(`\n\n${words(100)}And here it ends.`, 1),
    ended,
  );
  await appPage.ask("Write a lot");
  const answer = appPage.answers.last();
  await answer.getByText("It begins here.").waitFor();
  const live = await answer.getAttribute("data-message");
  assert.ok(live);
  // What comes once with the first words, such as the parts that are loaded late.
  await eventually(async () => {
    await rendersSince(appPage);
    await appPage.page.waitForTimeout(200);
    assert.deepEqual(await rendersSince(appPage), { composer: 0, rows: {} });
  });

  pauses[0]?.resolve();
  await answer.getByText("And here it pauses.").waitFor();
  const streaming = await rendersSince(appPage);
  assert.deepEqual(Object.keys(streaming.rows), [live], "a delta renders the row that it belongs to");
  assert.ok((streaming.rows[live] ?? 0) > 10, "the answer came in pieces");
  assert.equal(streaming.composer, 0, "a delta renders nothing of the composer");

  await appPage.composer.pressSequentially("A thought of mine");
  const typing = await rendersSince(appPage);
  assert.ok(typing.composer > 0, "what is typed renders the composer");
  assert.deepEqual(typing.rows, {}, "what is typed renders no message");

  pauses[1]?.resolve();
  await appPage.composer.pressSequentially(", and more of it");
  await answer.getByText("And here it ends.").waitFor();
  const both = await rendersSince(appPage);
  assert.deepEqual(Object.keys(both.rows), [live]);
  assert.equal(await appPage.composer.inputValue(), "A thought of mine, and more of it");
  pauses[2]?.resolve();
  await appPage.answered();
});
