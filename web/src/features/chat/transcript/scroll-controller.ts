/** Message of the open chat to scroll to; it is loaded already. */
export interface ScrollTarget {
  readonly message: string;
  /** Receives the message's row once it is visible. */
  readonly onShown: (row: HTMLElement) => void;
}

/** Position-dependent state of the transcript. */
interface ScrollState {
  /** True if more than a line of the newest message is below the visible area. */
  readonly hiddenBelow: boolean;
}

/** Callbacks when the user scrolls near an end of the mounted messages. */
interface ScrollEvents {
  onState(state: ScrollState): void;
  onNearStart(): void;
  onNearEnd(): void;
}

/** Distance of a sent message from the top, in px; a part of the previous turn stays visible. */
export const TURN_TOP_PX = 76;
/** Distance from the end, in px, that counts as being at the end. */
export const END_TOLERANCE_PX = 4;
/** Hidden height, in px, that counts as more than a line. */
const LINE_PX = 26;
/** Distance from an end of the mounted messages, in px, at which the next page loads. */
const LOAD_MORE_PX = 600;

/** Element that keeps its place in the window. */
interface Anchor {
  readonly element: Element;
  readonly top: number;
}

/** Controls that change the height of a message, at their own place or below it. */
const UNFOLDING_CONTROLS = "[aria-expanded], [data-resizes], summary";

const UPWARD_KEYS: ReadonlySet<string> = new Set(["ArrowUp", "PageUp", "Home"]);

/**
 * Keeps the scroll position that the user chose. At the end, new text stays visible; anywhere else nothing moves, even
 * if messages are added before or after. Only actions of the user change the mode, never the length of the text.
 */
export class ScrollController {
  readonly #scroller: HTMLElement;
  readonly #rows: HTMLElement;
  readonly #bottomSpacer: HTMLElement;
  readonly #events: ScrollEvents;
  #following = true;
  #hasSpacer = false;
  #hiddenBelow = false;
  #lastTop = 0;
  #lastHeight = 0;
  /** A button that folds something, then what is at the top, the innermost one first. */
  #anchors: readonly Anchor[] = [];

  /** `rows` holds the messages and `room` is the empty space below them, both inside `scroller`. */
  constructor(scroller: HTMLElement, rows: HTMLElement, bottomSpacer: HTMLElement, events: ScrollEvents) {
    this.#scroller = scroller;
    this.#rows = rows;
    this.#bottomSpacer = bottomSpacer;
    this.#events = events;
  }

  /** Starts to observe; the result disconnects. */
  connect(): () => void {
    const stop = new AbortController();
    const on = { signal: stop.signal, passive: true };
    const scroller = this.#scroller;
    scroller.addEventListener("scroll", () => this.#onScroll(), on);
    scroller.addEventListener("wheel", (event) => event.deltaY < 0 && this.#release(), on);
    scroller.addEventListener("touchmove", () => this.#release(), on);
    scroller.addEventListener("keydown", (event) => UPWARD_KEYS.has(event.key) && this.#release(), on);
    scroller.addEventListener(
      "focusin",
      (event) => event.target !== scroller && this.#releaseForFocus(event.target),
      on,
    );
    this.#rows.addEventListener("click", (event) => this.#releaseForUnfold(event.target), on);
    document.addEventListener("selectionchange", () => this.#onSelection(), on);
    // Resize observers run after layout and before paint, so corrections are never visible.
    const observer = new ResizeObserver(() => this.settle());
    observer.observe(scroller);
    observer.observe(this.#rows);
    return () => {
      stop.abort();
      observer.disconnect();
    };
  }

  /** Restores the position after the content changed. */
  settle(): void {
    this.#resizeSpacer();
    const isEmpty = this.#rows.childElementCount === 0;
    // Without messages there is no end to follow; the empty state is read from its top.
    if (this.#following && !isEmpty) this.#scrollTo(this.#scroller.scrollHeight);
    else this.#restoreAnchor();
    this.#report();
  }

  /** Moves a sent message to the top, with room for its answer below. */
  showTurn(): void {
    this.#hasSpacer = true;
    this.scrollToEnd();
  }

  /** Restores the position of an opened chat: its last user message, or its end when that is near. */
  restorePosition(running: boolean): void {
    this.#hasSpacer = false;
    this.#resizeSpacer();
    const lastMessage = this.#lastUserMessage();
    const end = this.#scroller.scrollHeight - this.#scroller.clientHeight;
    const top = lastMessage ? lastMessage.offsetTop - TURN_TOP_PX : end;
    this.#following = running || top >= end - END_TOLERANCE_PX;
    this.#scrollTo(this.#following ? end : top);
    this.#captureAnchor();
    this.#report();
  }

  /** Scrolls to the end and follows it. */
  scrollToEnd(): void {
    this.#following = true;
    this.settle();
  }

  /** Scrolls to a message that was searched for. */
  scrollToMessage(row: HTMLElement): void {
    this.#hasSpacer = false;
    this.#following = false;
    this.#resizeSpacer();
    this.#scrollTo(row.offsetTop - TURN_TOP_PX);
    this.#anchors = [{ element: row, top: row.getBoundingClientRect().top }];
    this.#report();
  }

  #lastUserMessage(): HTMLElement | undefined {
    return [...this.#rows.querySelectorAll<HTMLElement>("[data-role=user]")].at(-1);
  }

  #resizeSpacer(): void {
    const lastMessage = this.#hasSpacer ? this.#lastUserMessage() : undefined;
    const wanted = lastMessage
      ? this.#scroller.clientHeight - TURN_TOP_PX - (this.#bottomSpacer.offsetTop - lastMessage.offsetTop)
      : 0;
    const height = `${Math.max(0, Math.floor(wanted))}px`;
    if (this.#bottomSpacer.style.height !== height) this.#bottomSpacer.style.height = height;
  }

  #scrollTo(top: number): void {
    this.#scroller.scrollTop = top;
    this.#lastTop = this.#scroller.scrollTop;
    this.#lastHeight = this.#scroller.scrollHeight;
  }

  #release(): void {
    const fits = this.#scroller.scrollHeight <= this.#scroller.clientHeight;
    if (!this.#following || fits) return;
    this.#following = false;
    this.#captureAnchor();
  }

  #releaseForFocus(target: EventTarget | null): void {
    // A click on a card's own button must not stop following; only keyboard focus does.
    if (target instanceof Element && target.matches(":focus-visible")) this.#release();
  }

  /** Stops following when the user unfolds something to read it, and keeps a button in place that folds something. */
  #releaseForUnfold(target: EventTarget | null): void {
    const control = target instanceof Element ? target.closest(UNFOLDING_CONTROLS) : null;
    if (!control) return;
    this.#following = false;
    this.#captureAnchor();
    // What it folds can be above it.
    if (control.ariaExpanded === "true")
      this.#anchors = [{ element: control, top: control.getBoundingClientRect().top }, ...this.#anchors];
  }

  #onSelection(): void {
    const selection = document.getSelection();
    if (selection && !selection.isCollapsed && this.#rows.contains(selection.anchorNode)) this.#release();
  }

  #onScroll(): void {
    const { scrollTop, scrollHeight, clientHeight } = this.#scroller;
    const movedUp = scrollTop < this.#lastTop - 1;
    const movedDown = scrollTop > this.#lastTop + 1;
    // The scroll bar and the browser's search scroll up without any other event.
    if (this.#following && movedUp && scrollHeight >= this.#lastHeight) this.#following = false;
    else if (!this.#following && movedDown && scrollHeight - clientHeight - scrollTop <= END_TOLERANCE_PX)
      this.#following = true;
    this.#lastTop = scrollTop;
    this.#lastHeight = scrollHeight;
    if (!this.#following) this.#captureAnchor();
    if (scrollTop < LOAD_MORE_PX) this.#events.onNearStart();
    if (this.#bottomSpacer.offsetTop - scrollTop - clientHeight < LOAD_MORE_PX) this.#events.onNearEnd();
    this.#report();
  }

  /** Remembers the position of what is at the top: of a row, of the block in it, of the line in that. */
  #captureAnchor(): void {
    const edge = this.#scroller.getBoundingClientRect().top;
    const anchors: Anchor[] = [];
    let inner = firstVisibleChild(this.#rows, edge);
    while (inner) {
      anchors.unshift(inner);
      // What begins in the window is itself read from its top.
      inner = inner.top < edge ? firstVisibleChild(inner.element, edge) : undefined;
    }
    this.#anchors = anchors;
  }

  #restoreAnchor(): void {
    // An inner element may be hidden or replaced, then its container stays where it is.
    const anchor = this.#anchors.find(({ element }) => element.checkVisibility());
    if (!anchor) return this.#captureAnchor();
    const moved = anchor.element.getBoundingClientRect().top - anchor.top;
    if (Math.abs(moved) >= 1) this.#scrollTo(this.#scroller.scrollTop + moved);
  }

  #report(): void {
    const { scrollTop, clientHeight } = this.#scroller;
    const hiddenBelow = this.#bottomSpacer.offsetTop - scrollTop - clientHeight > LINE_PX;
    if (hiddenBelow === this.#hiddenBelow) return;
    this.#hiddenBelow = hiddenBelow;
    this.#events.onState({ hiddenBelow });
  }
}

/** Returns the first child that reaches below an edge and moves with the conversation alone. */
function firstVisibleChild(parent: Element, edge: number): Anchor | undefined {
  // What is in a box that scrolls by itself moves with that, too.
  if (/auto|scroll/u.test(getComputedStyle(parent).overflowY)) return undefined;
  for (const element of parent.children) {
    const { top, bottom, height } = element.getBoundingClientRect();
    if (bottom > edge && height > 0 && getComputedStyle(element).position !== "sticky")
      return { element, top };
  }
  return undefined;
}
