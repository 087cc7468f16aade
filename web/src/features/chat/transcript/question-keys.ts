import { type RefObject, useEffect } from "react";
import { END_TOLERANCE_PX, TURN_TOP_PX } from "./scroll-controller";

interface QuestionKeysProps {
  /** Element around the messages, in the one that scrolls. */
  rows: RefObject<HTMLElement | null>;
}

/** Keys that lead to the question before or after: Alt with an arrow, in the conversation or an empty message field. */
export function QuestionKeys({ rows }: QuestionKeysProps) {
  useEffect(() => {
    const listener = (event: KeyboardEvent) => onKeyDown(event, rows.current);
    document.addEventListener("keydown", listener);
    rows.current?.parentElement?.setAttribute("aria-keyshortcuts", "Alt+ArrowUp Alt+ArrowDown");
    return () => document.removeEventListener("keydown", listener);
  }, [rows]);
  return null;
}

function onKeyDown(event: KeyboardEvent, rows: HTMLElement | null): void {
  const { altKey, key, target } = event;
  const scroller = rows?.parentElement;
  if (!scroller || !altKey || (key !== "ArrowUp" && key !== "ArrowDown")) return;
  if (!(target instanceof Element)) return;
  const isEmptyField = target.matches("[data-composer] textarea:placeholder-shown");
  if (!isEmptyField && !scroller.contains(target)) return;
  event.preventDefault();
  const questions = [...rows.querySelectorAll<HTMLElement>("[data-role=user]")];
  const top = scroller.scrollTop + TURN_TOP_PX;
  const next =
    key === "ArrowUp"
      ? questions.findLast((row) => row.offsetTop < top - END_TOLERANCE_PX)
      : questions.find((row) => row.offsetTop > top + END_TOLERANCE_PX);
  if (!next) return;
  scroller.scrollTop = next.offsetTop - TURN_TOP_PX;
  // The browser's own event comes a frame later, and content that grows until then would take the reader back.
  scroller.dispatchEvent(new Event("scroll"));
}
