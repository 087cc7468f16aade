interface ShortcutKeysProps {
  /** Keys that are pressed together, as they are printed on this device's keyboard. */
  keys: readonly string[];
}

/** Keys of a shortcut. */
export function ShortcutKeys({ keys }: ShortcutKeysProps) {
  return (
    <span className="flex shrink-0 gap-1.5">
      {keys.map((key) => (
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
