import { Button } from "@/ui/button";

interface ActionRowProps {
  /** What the action is for. */
  text: string;
  /** Label of the button; undefined if the action is not possible here. */
  action: string | undefined;
  busy: boolean;
  onAction: () => void;
}

/** Last row of a list, with a button that adds an entry. */
export function ActionRow({ text, action, busy, onAction }: ActionRowProps) {
  return (
    <div className="flex min-h-9 items-center gap-3 px-4 py-2.5 touch:min-h-11">
      <p className="min-w-0 flex-1 text-md wrap-anywhere text-ink-2">{text}</p>
      {action !== undefined && (
        <Button size="sm" variant="line" busy={busy} disabled={busy} onClick={onAction}>
          {action}
        </Button>
      )}
    </div>
  );
}
