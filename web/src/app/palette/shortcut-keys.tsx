import { keysOf, type ShortcutId } from "../shortcuts";

/** Keys of a shortcut. */
export function ShortcutKeys({ id }: { id: ShortcutId }) {
  return (
    <span className="flex shrink-0 gap-1.5">
      {keysOf(id).map((key) => (
        <kbd
          key={key}
          className="rounded-sm border border-line-strong px-1.5 font-sans text-xs leading-[18px] text-ink-2"
        >
          {key}
        </kbd>
      ))}
    </span>
  );
}
