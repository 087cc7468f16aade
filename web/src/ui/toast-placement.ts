/** Rectangle in the window, in pixels. */
export interface Box {
  left: number;
  top: number;
  width: number;
  height: number;
}

/** Distance of toasts from the window's edge and from protected elements. */
const GAP_PX = 10;

/**
 * Returns the corner at which a box of this size covers nothing: as far up as possible, at the right edge if there is
 * room, else at the left one. If there is none, it covers avoided elements first, then as little as possible of the
 * protected ones.
 */
export function placeToasts(
  size: { width: number; height: number },
  room: { width: number; height: number },
  keptFree: readonly Box[],
  avoided: readonly Box[] = [],
): { left: number; top: number } {
  const all = [...keptFree, ...avoided];
  const lefts = [room.width - size.width - GAP_PX, GAP_PX].filter((left) => left >= 0);
  const tops = [
    GAP_PX,
    ...all.flatMap(({ top, height }) => [top + height + GAP_PX, top - size.height - GAP_PX]),
    room.height - size.height - GAP_PX,
  ]
    .filter((top) => top >= GAP_PX && top + size.height <= room.height - GAP_PX)
    .toSorted((one, other) => one - other);
  const places = lefts.flatMap((left) => tops.map((top) => ({ left, top })));
  const covers = (boxes: readonly Box[], place: { left: number; top: number }): number =>
    coveredArea(boxes, { ...place, ...size });
  return (
    places.find((place) => covers(all, place) === 0) ??
    places.toSorted((one, other) => covers(keptFree, one) - covers(keptFree, other))[0] ?? {
      left: GAP_PX,
      top: GAP_PX,
    }
  );
}

/** Returns the area of the boxes that lies under another one, in square pixels. */
export function coveredArea(boxes: readonly Box[], over: Box): number {
  return boxes.reduce((sum, box) => sum + overlap(over, box), 0);
}

/** Returns the area that two boxes share, in square pixels. */
function overlap(one: Box, other: Box): number {
  const across = Math.min(one.left + one.width, other.left + other.width) - Math.max(one.left, other.left);
  const down = Math.min(one.top + one.height, other.top + other.height) - Math.max(one.top, other.top);
  return Math.max(0, across) * Math.max(0, down);
}
