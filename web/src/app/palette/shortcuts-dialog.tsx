import { X } from "lucide-react";
import { useEffect, useRef } from "react";
import { t } from "@/lib/later-texts";
import { IconButton } from "@/ui/button";
import { actionCommands, type CommandTargets, paletteCommand } from "./commands";
import { ShortcutKeys } from "./shortcut-keys";

interface ShortcutsDialogProps {
  targets: CommandTargets;
  onClose: () => void;
}

/** Dialog with the keyboard shortcuts. */
export function ShortcutsDialog({ targets, onClose }: ShortcutsDialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const close = () => dialog.current?.close();
  return (
    <dialog
      ref={dialog}
      aria-labelledby="shortcuts-title"
      onClose={onClose}
      onClick={(event) => {
        if (event.target === dialog.current) close();
      }}
      className="m-auto w-[min(440px,calc(100vw-24px))] max-w-none animate-enter rounded-[18px] border border-line bg-surface p-5 text-ink shadow-float backdrop:bg-scrim"
    >
      <div className="mb-2 flex items-center">
        <h2 id="shortcuts-title" className="mr-auto text-lg">
          {t("palette.shortcuts.title")}
        </h2>
        <IconButton size="sm" label={t("ui.close")} icon={<X />} onClick={close} />
      </div>
      <dl>
        {[paletteCommand(), ...actionCommands(targets)].map(
          ({ label, shortcut }) =>
            shortcut !== undefined && (
              <div
                key={shortcut}
                className="flex items-center justify-between gap-4 border-t border-line py-2.5 text-md"
              >
                <dt>{label}</dt>
                <dd>
                  <ShortcutKeys id={shortcut} />
                </dd>
              </div>
            ),
        )}
      </dl>
    </dialog>
  );
}
