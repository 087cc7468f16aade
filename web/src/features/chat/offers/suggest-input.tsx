import { Autocomplete } from "@base-ui/react/autocomplete";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { cn } from "@/lib/cn";
import { showInvisible } from "@/lib/show-invisible";
import { type FieldIds, Input } from "@/ui/field";
import { floatingClass, floatingPlace } from "@/ui/floating";
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
  const [field, setField] = useState<HTMLInputElement | null>(null);
  const [open, setOpen] = useState(false);
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

  return (
    <Autocomplete.Root
      items={proposals}
      // The server says what fits.
      mode="none"
      value={value}
      onValueChange={(next, { reason }) => {
        // Escape closes the list and leaves what was typed.
        if (reason !== "escape-key") onChange(next);
      }}
      open={open && proposals.length > 0}
      onOpenChange={(next, details) => {
        if (details.reason === "escape-key") {
          // The sheet around it stays.
          details.event.preventDefault();
        }
        setOpen(next);
      }}
    >
      <Autocomplete.Input
        ref={setField}
        {...ids}
        required={required}
        // The open list hides the label from assistive technology, with all else around it.
        aria-labelledby={`${ids.id}-label`}
        aria-autocomplete="list"
        render={<Input />}
        onFocus={() => setOpen(true)}
        onInput={() => setOpen(true)}
      />
      <Autocomplete.Portal container={field?.closest("dialog") ?? undefined}>
        <Autocomplete.Positioner {...floatingPlace} align="start">
          <Autocomplete.Popup
            className={cn(floatingClass, "max-h-[min(224px,var(--available-height))] w-(--anchor-width)")}
          >
            <Autocomplete.List aria-label={t("offers.proposals")}>
              {(proposal: string) => (
                <Autocomplete.Item
                  key={proposal}
                  value={proposal}
                  className="flex cursor-default items-center rounded-md px-2.5 py-1.5 text-md wrap-anywhere data-highlighted:bg-sunken touch:min-h-11"
                >
                  {showInvisible(proposal)}
                </Autocomplete.Item>
              )}
            </Autocomplete.List>
          </Autocomplete.Popup>
        </Autocomplete.Positioner>
      </Autocomplete.Portal>
    </Autocomplete.Root>
  );
}
