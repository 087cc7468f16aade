import { type KeyboardEvent, useId, useState } from "react";
import { isComposing } from "@/lib/is-composing";
import { useQuery } from "@/lib/query/use-query";
import { showInvisible } from "@/lib/show-invisible";
import { type FieldIds, Input } from "@/ui/field";
import { type Blank, complete } from "./offers";
import { t } from "./offers-text";
import { useSettled } from "./use-settled";

interface SuggestInputProps extends FieldIds {
  value: string;
  onChange: (value: string) => void;
  required: boolean;
  /** What the server is asked for proposals about. */
  question: { connectionId: string; blank: Blank; name: string; filled: Record<string, string> };
}

/** How long somebody has to have stopped typing before the server is asked. */
const quietMs = 200;
const NONE: readonly string[] = [];

/** A field with the server's proposals below it. Anything else can be typed as well. */
export function SuggestInput({ value, onChange, required, question, ...ids }: SuggestInputProps) {
  const listId = useId();
  const [open, setOpen] = useState(false);
  const [chosen, setChosen] = useState(-1);
  const asked = useSettled(value, quietMs);
  const { connectionId, blank, name, filled } = question;
  const { [name]: _own, ...others } = filled;
  const { data = NONE } = useQuery({
    queryKey: ["completion", connectionId, JSON.stringify(blank), name, asked, JSON.stringify(others)],
    queryFn: () => complete(connectionId, blank, name, asked, others),
    enabled: open,
  });
  // What is typed already is no proposal.
  const proposals = asked === value ? data.filter((proposal) => proposal !== value) : NONE;
  const isShown = open && proposals.length > 0;
  const active = isShown ? proposals[chosen] : undefined;

  function take(proposal: string): void {
    onChange(proposal);
    setOpen(false);
    setChosen(-1);
  }

  function onKeyDown(event: KeyboardEvent): void {
    if (isComposing(event)) return;
    const { key } = event;
    if (key === "ArrowDown" || key === "ArrowUp") {
      event.preventDefault();
      setOpen(true);
      if (!isShown) return;
      const step = key === "ArrowDown" ? 1 : -1;
      setChosen(chosen < 0 && step < 0 ? proposals.length - 1 : (chosen + step) % proposals.length);
    } else if (key === "Enter" && active !== undefined) {
      event.preventDefault();
      take(active);
    } else if (key === "Escape" && isShown) {
      // The sheet around it stays.
      event.preventDefault();
      event.stopPropagation();
      setOpen(false);
    }
  }

  return (
    <div className="relative">
      <Input
        {...ids}
        role="combobox"
        aria-expanded={isShown}
        aria-controls={isShown ? listId : undefined}
        aria-autocomplete="list"
        aria-activedescendant={active === undefined ? undefined : `${listId}-${chosen}`}
        autoComplete="off"
        required={required}
        value={value}
        onChange={(event) => {
          onChange(event.target.value);
          setChosen(-1);
          setOpen(true);
        }}
        onFocus={() => setOpen(true)}
        onBlur={() => setOpen(false)}
        onKeyDown={onKeyDown}
      />
      {isShown && (
        <div
          id={listId}
          role="listbox"
          tabIndex={-1}
          aria-label={t("offers.proposals")}
          onMouseDown={(event) => event.preventDefault()}
          className="absolute top-full right-0 left-0 z-10 mt-1 max-h-56 overflow-auto rounded-lg border border-line bg-surface p-1.5 shadow-float"
        >
          {proposals.map((proposal, index) => (
            // Keys reach the list through the field.
            // oxlint-disable-next-line jsx-a11y/click-events-have-key-events
            <div
              key={proposal}
              id={`${listId}-${index}`}
              role="option"
              tabIndex={-1}
              aria-selected={index === chosen}
              onClick={() => take(proposal)}
              className={`flex cursor-default items-center rounded-md px-2.5 py-1.5 text-md wrap-anywhere hover:bg-sunken touch:min-h-11 ${index === chosen ? "bg-sunken" : ""}`}
            >
              {showInvisible(proposal)}
            </div>
          ))}
        </div>
      )}
    </div>
  );
}
