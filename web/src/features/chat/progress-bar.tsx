interface ProgressBarProps {
  /** What makes progress. */
  label: string;
  value: number;
  total: number;
}

/** How far something is. */
export function ProgressBar({ label, value, total }: ProgressBarProps) {
  const percent = Math.round(Math.min(1, value / total) * 100);
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
        className="block h-full rounded-sm bg-accent transition-[width] duration-150"
        style={{ width: `${percent}%` }}
      />
    </span>
  );
}
