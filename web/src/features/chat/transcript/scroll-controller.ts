/** Position-dependent state of the transcript. */
export interface ScrollState {
  /** True if more than a line of the newest message is below the visible area. */
  readonly hiddenBelow: boolean;
}

/** Callbacks when the user scrolls near an end of the mounted messages. */
export interface ScrollEvents {
  onState(state: ScrollState): void;
  onNearStart(): void;
  onNearEnd(): void;
}

/** Distance of a sent message from the top, in px; a part of the previous turn stays visible. */
const TURN_TOP = 76;
/** Distance from the end, in px, that counts as being at the end. */
const AT_END = 4;
/** Hidden height, in px, that counts as more than a line. */
const LINE = 26;
/** Distance from an end of the mounted messages, in px, at which the next page loads. */
const NEAR = 600;

const UPWARDS: ReadonlySet<string> = new Set(["ArrowUp", "PageUp", "Home"]);

/**
 * Keeps the scroll position that the user chose. At the end, new text stays visible; anywhere else nothing moves, even
 * if messages are added before or after. Only actions of the user change the mode, never the length of the text.
 */
export class ScrollController {
  readonly #scroller: HTMLElement;
  readonly #rows: HTMLElement;
  readonly #room: HTMLElement;
  readonly #events: ScrollEvents;
  #following = true;
  #roomForTurn = false;
  #hiddenBelow = false;
  #lastTop = 0;
  #lastHeight = 0;
  #anchor: { readonly row: Element; readonly top: number } | null = null;

  /** `rows` holds the messages and `room` is the empty space below them, both inside `scroller`. */
  constructor(scroller: HTMLElement, rows: HTMLElement, room: HTMLElement, events: ScrollEvents) {
    this.#scroller = scroller;
    this.#rows = rows;
    this.#room = room;
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
    scroller.addEventListener("keydown", (event) => UPWARDS.has(event.key) && this.#release(), on);
    scroller.addEventListener(
      "focusin",
      (event) => event.target !== scroller && this.#releaseForFocus(event.target),
      on,
    );
    this.#rows.addEventListener("click", (event) => this.#releaseForFold(event.target), on);
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
    this.#makeRoom();
    const isEmpty = this.#rows.childElementCount === 0;
    // Without messages there is no end to follow; the empty state is read from its top.
    if (this.#following && !isEmpty) this.#scrollTo(this.#scroller.scrollHeight);
    else this.#restoreAnchor();
    this.#report();
  }

  /** Moves a sent message to the top, with room for its answer below. */
  showTurn(): void {
    this.#roomForTurn = true;
    this.jump();
  }

  /** Restores the position of an opened chat: its last user message, or its end when that is near. */
  land(running: boolean): void {
    this.#roomForTurn = false;
    this.#makeRoom();
    const question = this.#lastQuestion();
    const end = this.#scroller.scrollHeight - this.#scroller.clientHeight;
    const top = question ? question.offsetTop - TURN_TOP : end;
    this.#following = running || top >= end - AT_END;
    this.#scrollTo(this.#following ? end : top);
    this.#captureAnchor();
    this.#report();
  }

  /** Scrolls to the end and follows it. */
  jump(): void {
    this.#following = true;
    this.settle();
  }

  /** Scrolls to a message that was searched for. */
  show(row: HTMLElement): void {
    this.#roomForTurn = false;
    this.#following = false;
    this.#makeRoom();
    this.#scrollTo(row.offsetTop - TURN_TOP);
    this.#anchor = { row, top: row.getBoundingClientRect().top };
    this.#report();
  }

  /** Scrolls to the user message before (-1) or after (1) the one at the top. */
  step(direction: -1 | 1): void {
    const questions = [...this.#rows.querySelectorAll<HTMLElement>("[data-role=user]")];
    const top = this.#scroller.scrollTop + TURN_TOP;
    const target =
      direction < 0
        ? questions.findLast((row) => row.offsetTop < top - AT_END)
        : questions.find((row) => row.offsetTop > top + AT_END);
    if (!target) return;
    this.#release();
    this.#scrollTo(target.offsetTop - TURN_TOP);
    this.#captureAnchor();
  }

  #lastQuestion(): HTMLElement | undefined {
    return [...this.#rows.querySelectorAll<HTMLElement>("[data-role=user]")].at(-1);
  }

  #makeRoom(): void {
    const question = this.#roomForTurn ? this.#lastQuestion() : undefined;
    const wanted = question
      ? this.#scroller.clientHeight - TURN_TOP - (this.#room.offsetTop - question.offsetTop)
      : 0;
    const height = `${Math.max(0, Math.floor(wanted))}px`;
    if (this.#room.style.height !== height) this.#room.style.height = height;
  }

  #scrollTo(top: number): void {
    this.#scroller.scrollTop = top;
    this.#lastTop = this.#scroller.scrollTop;
    this.#lastHeight = this.#scroller.scrollHeight;
  }

  #release(evenIfAllFits = false): void {
    const fits = this.#scroller.scrollHeight <= this.#scroller.clientHeight;
    if (!this.#following || (fits && !evenIfAllFits)) return;
    this.#following = false;
    this.#captureAnchor();
  }

  #releaseForFocus(target: EventTarget | null): void {
    // A click on a card's own button must not stop following; only keyboard focus does.
    if (target instanceof Element && target.matches(":focus-visible")) this.#release();
  }

  /** Stops following when the user unfolds something to read it. */
  #releaseForFold(target: EventTarget | null): void {
    if (target instanceof Element && target.closest("[aria-expanded], summary")) this.#release(true);
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
    else if (!this.#following && movedDown && scrollHeight - clientHeight - scrollTop <= AT_END)
      this.#following = true;
    this.#lastTop = scrollTop;
    this.#lastHeight = scrollHeight;
    if (!this.#following) this.#captureAnchor();
    if (scrollTop < NEAR) this.#events.onNearStart();
    if (this.#room.offsetTop - scrollTop - clientHeight < NEAR) this.#events.onNearEnd();
    this.#report();
  }

  /** Remembers the first visible row and its position. */
  #captureAnchor(): void {
    const edge = this.#scroller.getBoundingClientRect().top;
    for (const row of this.#rows.children) {
      const box = row.getBoundingClientRect();
      if (box.bottom > edge && box.height > 0) {
        this.#anchor = { row, top: box.top };
        return;
      }
    }
    this.#anchor = null;
  }

  #restoreAnchor(): void {
    if (!this.#anchor?.row.isConnected) return this.#captureAnchor();
    const moved = this.#anchor.row.getBoundingClientRect().top - this.#anchor.top;
    if (Math.abs(moved) >= 1) this.#scrollTo(this.#scroller.scrollTop + moved);
  }

  #report(): void {
    const { scrollTop, clientHeight } = this.#scroller;
    const hiddenBelow = this.#room.offsetTop - scrollTop - clientHeight > LINE;
    if (hiddenBelow === this.#hiddenBelow) return;
    this.#hiddenBelow = hiddenBelow;
    this.#events.onState({ hiddenBelow });
  }
}
