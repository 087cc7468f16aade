import { type ReactNode, useEffect, useId } from "react";
import { useSearchParams } from "wouter";
import { t } from "@/lib/later-texts";
import { Button } from "@/ui/button";

interface SettingRowProps {
  part: SettingsPart;
  label: string;
  /** Current value. */
  value?: ReactNode;
  /** Label of the button that opens the form. */
  action: string;
  danger?: boolean;
  /** Renders the form, with a function to close it. */
  children: (close: () => void) => ReactNode;
}

/** Row with a setting's value and the form that changes it. Only one form is open at a time. */
export function SettingRow({ part, label, value, action, danger = false, children }: SettingRowProps) {
  const [openPart, setOpenPart] = useOpenPart();
  const id = useId();
  const toggleId = `${id}-toggle`;
  const open = openPart === part;
  const formId = `${id}-form`;
  useEffect(() => {
    if (!open) return undefined;
    // After a reload the dialog opens later than this and would take the focus.
    const frame = requestAnimationFrame(() => {
      const form = document.getElementById(formId);
      form?.scrollIntoView({ block: "nearest" });
      form?.querySelector<HTMLElement>("input:not([type=hidden])")?.focus();
    });
    return () => cancelAnimationFrame(frame);
  }, [open, formId]);
  function close(): void {
    setOpenPart(undefined);
    document.getElementById(toggleId)?.focus();
  }
  return (
    <div className="px-4 py-2.5">
      <div className="flex min-h-9 items-center gap-3 touch:min-h-11">
        <div className="min-w-0 flex-1">
          <p id={id} className={value === undefined ? "text-md font-medium" : "text-sm text-ink-2"}>
            {label}
          </p>
          {value !== undefined && <div className="text-md wrap-anywhere">{value}</div>}
        </div>
        <Button
          id={toggleId}
          size="sm"
          variant={open ? "quiet" : danger ? "danger" : "line"}
          aria-expanded={open}
          aria-controls={open ? formId : undefined}
          aria-labelledby={`${toggleId} ${id}`}
          onClick={() => (open ? close() : setOpenPart(part))}
        >
          {open ? t("account.cancel") : action}
        </Button>
      </div>
      {open && (
        <div id={formId} className="animate-enter pt-3 pb-2">
          {children(close)}
        </div>
      )}
    </div>
  );
}

/** Names of the forms in the settings, as in the URL. */
const settingsParts = [
  "name",
  "email",
  "password",
  "two-step",
  "security-key",
  "recovery-codes",
  "model-provider",
  "model-settings",
  "api-key",
  "delete",
] as const;

type SettingsPart = (typeof settingsParts)[number];

/**
 * Returns the open form in the settings and a function to change it. It is in the URL, so that a reload restores it.
 */
function useOpenPart(): [SettingsPart | undefined, (part: SettingsPart | undefined) => void] {
  const [params, setParams] = useSearchParams();
  const named = params.get("form");
  const open = settingsParts.find((part) => part === named);
  function choose(part: SettingsPart | undefined): void {
    setParams(
      (current) => {
        const changed = new URLSearchParams(current);
        if (part === undefined) changed.delete("form");
        else changed.set("form", part);
        return changed;
      },
      { replace: true, state: history.state as unknown },
    );
  }
  return [open, choose];
}
