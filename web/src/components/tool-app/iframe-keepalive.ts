import { forgetAfter } from "@/lib/user-data";

/**
 * A frame that leaves the document forgets everything, so one whose place goes away waits here: until the place is shown
 * again, or until its app has put things in order. Browsers that cannot move a frame alive load it anew.
 */
let container: HTMLElement | undefined;
forgetAfter("session", () => {
  container?.remove();
  container = undefined;
});

interface Mover {
  moveBefore?: (node: Node, before: Node | null) => void;
}

function move(node: HTMLElement, to: HTMLElement): void {
  const mover = to as Mover;
  if (mover.moveBefore && node.isConnected) mover.moveBefore.call(to, node, null);
  else to.append(node);
}

/** Takes a frame out of its place, alive. */
export function keepAlive(frame: HTMLElement): void {
  if (!("moveBefore" in Element.prototype) || !frame.isConnected) return;
  if (container === undefined) {
    container = document.createElement("div");
    container.hidden = true;
    container.inert = true;
    document.body.append(container);
  }
  move(frame, container);
}

/** Puts a frame back into its place. */
export function moveBack(frame: HTMLElement, place: HTMLElement): void {
  if (frame.parentElement !== place) move(frame, place);
}
