import type { Page } from "playwright-core";

/** What React did between two looks, counted exactly: nothing here is timed. */
export interface Drawn {
  /** Commits in which a message was drawn. */
  readonly commits: number;
  /** The most commits of any kind between two frames of the browser. */
  readonly mostInAFrame: number;
  /** The most messages that one commit drew. */
  readonly mostRows: number;
  /** The messages that were drawn at all. */
  readonly rows: readonly string[];
  /** How often the composer was drawn. */
  readonly composer: number;
}

interface Watched extends Window {
  drawn?: { commits: number; inFrame: number; mostInAFrame: number; mostRows: number; composer: number };
  drawnRows?: Set<string>;
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

/** Counts what React draws in every page that is opened from now on, in the build as it is shipped. */
export async function watchDrawing(page: Page): Promise<void> {
  await page.addInitScript(() => {
    /** A component was called in this commit, rather than taken over as it was. */
    const PERFORMED_WORK = 1;
    const watched: Watched = window;
    const fresh = () => ({ commits: 0, inFrame: 0, mostInAFrame: 0, mostRows: 0, composer: 0 });

    function look(next: Fiber, rows: Set<string>): void {
      const props = next.memoizedProps ?? {};
      const isComponent = next.tag === 0 || next.tag === 11 || next.tag === 14 || next.tag === 15;
      if (isComponent && (next.flags & PERFORMED_WORK) !== 0) {
        if ("isLast" in props && "store" in props && "id" in props) rows.add(String(props["id"]));
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
}

/** Counts from here on. */
export async function startCounting(page: Page): Promise<void> {
  await page.evaluate(() => dispatchEvent(new Event("start-counting")));
}

/** What was counted; counts no further. */
export async function stopCounting(page: Page): Promise<Drawn> {
  return page.evaluate(() => {
    const watched: Watched = window;
    const { drawn, drawnRows } = watched;
    delete watched.drawn;
    if (!drawn || !drawnRows) throw new Error("nothing was counted");
    const { inFrame: _, ...counts } = drawn;
    return { ...counts, rows: [...drawnRows] };
  });
}
