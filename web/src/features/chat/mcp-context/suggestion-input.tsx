import { Autocomplete } from "@base-ui/react/autocomplete";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { cn } from "@/lib/cn";
import { t } from "@/lib/later-texts";
import { showInvisible } from "@/lib/show-invisible";
import { type FieldIds, Input } from "@/ui/field";
import { floatingClass, floatingPlace } from "@/ui/floating";
import { type CompletionTarget, suggestionsQuery } from "./queries";

interface SuggestionInputProps extends FieldIds {
  value: string;
  onChange: (value: string) => void;
  required: boolean;
  /** Field for which suggestions are loaded, with the values of the other fields. */
  question: { connectionId: string; target: CompletionTarget; name: string; filled: Record<string, string> };
}

/** Time without typing before suggestions are loaded. */
const SUGGESTION_DEBOUNCE_MS = 200;
const NO_SUGGESTIONS: readonly string[] = [];

/** Text field with suggestions of the server. Any other value can be typed as well. */
export function SuggestionInput({ value, onChange, required, question, ...ids }: SuggestionInputProps) {
  const [field, setField] = useState<HTMLInputElement | null>(null);
  const [open, setOpen] = useState(false);
  const debounced = useDebouncedValue(value, SUGGESTION_DEBOUNCE_MS);
  const { connectionId, target, name, filled } = question;
  const { [name]: _own, ...others } = filled;
  const { data = NO_SUGGESTIONS } = useQuery({
    ...suggestionsQuery(connectionId, target, name, debounced, others),
    enabled: open,
  });
  // The current value is no suggestion.
  const suggestions =
    debounced === value ? data.filter((suggestion) => suggestion !== value) : NO_SUGGESTIONS;

  return (
    <Autocomplete.Root
      items={suggestions}
      // The server filters.
      mode="none"
      value={value}
      onValueChange={(next, { reason }) => {
        // Escape closes the list and keeps the typed value.
        if (reason !== "escape-key") onChange(next);
      }}
      open={open && suggestions.length > 0}
      onOpenChange={(next, details) => {
        if (details.reason === "escape-key") {
          // Escape must not close the surrounding sheet as well.
          details.event.preventDefault();
        }
        setOpen(next);
      }}
    >
      <Autocomplete.Input
        ref={setField}
        {...ids}
        required={required}
        // The open list hides the label from assistive technology, with everything else around it.
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
              {(suggestion: string) => (
                <Autocomplete.Item
                  key={suggestion}
                  value={suggestion}
                  className="flex cursor-default items-center rounded-md px-2.5 py-1.5 text-md wrap-anywhere data-highlighted:bg-sunken touch:min-h-11"
                >
                  {showInvisible(suggestion)}
                </Autocomplete.Item>
              )}
            </Autocomplete.List>
          </Autocomplete.Popup>
        </Autocomplete.Positioner>
      </Autocomplete.Portal>
    </Autocomplete.Root>
  );
}

/** Returns the value once it has not changed for `delayMs` milliseconds. */
function useDebouncedValue(value: string, delayMs: number): string {
  const [debounced, setDebounced] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setDebounced(value), delayMs);
    return () => clearTimeout(timer);
  }, [value, delayMs]);
  return debounced;
}
