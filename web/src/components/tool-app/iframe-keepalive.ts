import { forgetAfter } from "@/lib/user-data";

/**
 * Hidden container for iframes whose place is removed. An iframe that leaves the document loses its state, so it waits
 * here until the place is shown again or its app has cleaned up. Browsers that cannot move a live iframe reload it.
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

/** Moves an iframe out of its place without reloading it. */
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

/** Moves an iframe back into its place. */
export function moveBack(frame: HTMLElement, place: HTMLElement): void {
  if (frame.parentElement !== place) move(frame, place);
}
