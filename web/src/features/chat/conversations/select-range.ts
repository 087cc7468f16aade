/**
 * Returns a selection in which all ids from `from` to `to` are selected, or deselected. Without a known `from` only `to`
 * changes.
 */
export function selectRange(
  ids: readonly string[],
  selected: ReadonlySet<string>,
  from: string | undefined,
  to: string,
  isSelected: boolean,
): ReadonlySet<string> {
  const end = ids.indexOf(to);
  const start = from === undefined ? -1 : ids.indexOf(from);
  const [low, high] = start < 0 ? [end, end] : [Math.min(start, end), Math.max(start, end)];
  const changed = new Set(selected);
  for (const id of ids.slice(low, high + 1)) {
    if (isSelected) changed.add(id);
    else changed.delete(id);
  }
  return changed;
}
