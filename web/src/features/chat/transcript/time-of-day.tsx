import { timeOf } from "../format-time";

export function TimeOfDay({ moment }: { moment: string }) {
  return (
    <time dateTime={moment} className="text-xs text-ink-3 tabular-nums">
      {timeOf(moment)}
    </time>
  );
}
