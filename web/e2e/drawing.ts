import { setTimeout as pause } from "node:timers/promises";
import type { Page, Request } from "playwright-core";

/** Exact counts of React's renders between two readings, without times. */
export interface Drawn {
  /** Commits in which a message was drawn. */
  readonly commits: number;
  /** The most commits of any kind between two frames of the browser. */
  readonly mostInAFrame: number;
  /** The most messages that one commit drew. */
  readonly mostRows: number;
  /** The messages that were drawn at all. */
  readonly rows: readonly string[];
  /** Renders of an answer's actions, which depend on the row's props and on the chat's state. */
  readonly actions: number;
  /** Renders of the composer. */
  readonly composer: number;
}

/** Milliseconds without a commit or an answer after which a page is taken to rest. */
const rest = 500;

interface Watched extends Window {
  drawn?: Omit<{ -readonly [Name in keyof Drawn]: Drawn[Name] }, "rows"> & { inFrame: number };
  drawnRows?: Set<string>;
  /** Time of React's last commit, on the page's clock in milliseconds. */
  lastCommit?: number;
}

/** A fiber of React's, as far as its developer tools rely on it, too. */
interface Fiber {
  readonly tag: number;
  readonly flags: number;
  readonly memoizedProps: Record<string, unknown> | null;
  readonly alternate: Fiber | null;
  readonly child: Fiber | null;
  readonly sibling: Fiber | null;
}

const isStream = (request: Request) => request.headers()["accept"] === "text/event-stream";

/** Counts what React draws in every page that is opened from now on, in the build as it is shipped. */
export class Drawing {
  readonly #page: Page;
  readonly #asked = new Set<Request>();
  #lastAnswer = 0;

  private constructor(page: Page) {
    this.#page = page;
    page.on("request", (request) => {
      if (!isStream(request)) this.#asked.add(request);
    });
    const answered = (request: Request) => {
      if (this.#asked.delete(request)) this.#lastAnswer = Date.now();
    };
    page.on("requestfinished", answered);
    page.on("requestfailed", answered);
  }

  static async watch(page: Page): Promise<Drawing> {
    await page.addInitScript(() => {
      /** A component was called in this commit, rather than taken over as it was. */
      const PERFORMED_WORK = 1;
      const watched: Watched = window;
      const fresh = () => ({ commits: 0, inFrame: 0, mostInAFrame: 0, mostRows: 0, actions: 0, composer: 0 });

      function look(next: Fiber, rows: Set<string>): void {
        const props = next.memoizedProps ?? {};
        const isMemo = next.tag === 14 || next.tag === 15;
        const isComponent = next.tag === 0 || next.tag === 11 || isMemo;
        if (isComponent && (next.flags & PERFORMED_WORK) !== 0) {
          const isOfAnAnswer = "isLast" in props && "store" in props && "id" in props;
          if (isOfAnAnswer && isMemo) rows.add(String(props["id"]));
          if (isOfAnAnswer && !isMemo && watched.drawn) watched.drawn.actions += 1;
          if ("toolsConnected" in props && "onSend" in props && watched.drawn) watched.drawn.composer += 1;
        }
        // Below a fiber that kept its child nothing was drawn.
        if (next.child === next.alternate?.child) return;
        for (let child = next.child; child !== null; child = child.sibling) look(child, rows);
      }

      const hook = {
        supportsFiber: true,
        inject: () => 1,
        onCommitFiberUnmount: () => undefined,
        onCommitFiberRoot: (_: number, root: { current: Fiber }) => {
          const { drawn, drawnRows } = watched;
          watched.lastCommit = performance.now();
          if (!drawn || !drawnRows) return;
          const rows = new Set<string>();
          look(root.current, rows);
          drawn.inFrame += 1;
          drawn.mostInAFrame = Math.max(drawn.mostInAFrame, drawn.inFrame);
          drawn.mostRows = Math.max(drawn.mostRows, rows.size);
          if (rows.size > 0) drawn.commits += 1;
          for (const row of rows) drawnRows.add(row);
        },
      };
      Object.defineProperty(window, "__REACT_DEVTOOLS_GLOBAL_HOOK__", { value: hook });

      addEventListener("start-counting", () => {
        watched.drawn = fresh();
        watched.drawnRows = new Set();
        const frame = () => {
          if (watched.drawn) watched.drawn.inFrame = 0;
          requestAnimationFrame(frame);
        };
        requestAnimationFrame(frame);
      });
    });
    return new Drawing(page);
  }

  /** Waits until all that was asked for has come, streams aside, and has been drawn. */
  async rests(): Promise<void> {
    const sinceCommit = () =>
      this.#page.evaluate(() => performance.now() - ((window as Watched).lastCommit ?? 0));
    const isResting = async () =>
      this.#asked.size === 0 && Date.now() - this.#lastAnswer > rest && (await sinceCommit()) > rest;
    while (!(await isResting())) await pause(rest / 10);
  }

  /** Counts from here on. */
  async start(): Promise<void> {
    await this.#page.evaluate(() => dispatchEvent(new Event("start-counting")));
  }

  /** Stops counting and returns the counts. */
  async stop(): Promise<Drawn> {
    return this.#page.evaluate(() => {
      const watched: Watched = window;
      const { drawn, drawnRows } = watched;
      delete watched.drawn;
      if (!drawn || !drawnRows) throw new Error("nothing was counted");
      const { inFrame: _, ...counts } = drawn;
      return { ...counts, rows: [...drawnRows] };
    });
  }
}
