import { X } from "lucide-react";
import { useEffect, useRef } from "react";
import { t } from "@/lib/later-texts";
import { altLabel, modKey, shiftLabel } from "@/lib/mod-key";
import { usePreference } from "@/lib/preferences";
import { useMedia } from "@/lib/use-media";
import { IconButton } from "@/ui/button";
import { actionCommands, type CommandTargets, paletteCommand } from "./commands";
import { keysOf } from "../shortcuts";
import { ShortcutKeys } from "./shortcut-keys";

interface ShortcutsDialogProps {
  targets: CommandTargets;
  onClose: () => void;
}

/** Dialog with the keyboard shortcuts. */
export function ShortcutsDialog({ targets, onClose }: ShortcutsDialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [sendWith] = usePreference("sendWith");
  const isTouch = useMedia("(pointer: coarse)");
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
        {[...shortcutRows(targets), ...chatRows(isTouch || sendWith === "mod-enter")].map(
          ({ label, keys }) => (
            <div
              key={label}
              className="flex items-center justify-between gap-4 border-t border-line py-2.5 text-md"
            >
              <dt>{label}</dt>
              <dd className="shrink-0">
                <ShortcutKeys keys={keys} />
              </dd>
            </div>
          ),
        )}
      </dl>
    </dialog>
  );
}

interface ShortcutRow {
  label: string;
  keys: readonly string[];
}

/** Returns the shortcuts that work on every tab. */
function shortcutRows(targets: CommandTargets): readonly ShortcutRow[] {
  return [paletteCommand(), ...actionCommands(targets)].flatMap(({ label, shortcut }) =>
    shortcut === undefined ? [] : [{ label, keys: keysOf(shortcut) }],
  );
}

/** Returns the keys of the message field and of the conversation. */
function chatRows(sendsWithMod: boolean): readonly ShortcutRow[] {
  const enter = t("appearance.sendWith.enter");
  return [
    { label: t("palette.keys.send"), keys: sendsWithMod ? [modKey, enter] : [enter] },
    { label: t("palette.keys.newLine"), keys: [shiftLabel, enter] },
    { label: t("palette.keys.stop"), keys: ["Esc"] },
    { label: t("palette.keys.edit"), keys: ["↑"] },
    { label: t("palette.keys.questions"), keys: [altLabel, "↑", "↓"] },
  ];
}
