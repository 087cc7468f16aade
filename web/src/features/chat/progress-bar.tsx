interface ProgressBarProps {
  /** Label for screen readers. */
  label: string;
  value: number;
  /** Value at completion; undefined if unknown. */
  total: number | undefined;
}

/** Progress bar, indeterminate if no value is known. */
export function ProgressBar({ label, value, total }: ProgressBarProps) {
  const percent = total === undefined ? undefined : Math.round(Math.min(1, value / total) * 100);
  return (
    <span
      role="progressbar"
      aria-label={label}
      aria-valuenow={percent}
      aria-valuemin={0}
      aria-valuemax={100}
      className="h-1 max-w-35 min-w-12 flex-1 overflow-hidden rounded-sm bg-line"
    >
      <span
        className={`block h-full rounded-sm bg-accent transition-[width] duration-150 ${percent === undefined ? "animate-pulse" : ""}`}
        style={{ width: `${percent ?? 40}%` }}
      />
    </span>
  );
}
