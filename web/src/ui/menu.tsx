import { Menu } from "@base-ui/react/menu";
import { Fragment, type ReactNode, useRef, useState } from "react";
import { cn } from "@/lib/cn";
import { IconButton } from "./button";
import { floatingClass, floatingPlace } from "./floating";

/** Entry of an {@link ActionMenu}. */
export interface MenuAction {
  icon: ReactNode;
  label: string;
  onSelect: () => void;
  /** True if the action moves the focus itself; otherwise it returns to the menu's button. */
  movesFocus?: boolean;
}

interface ActionMenuProps {
  /** Label of the button that opens the menu. */
  label: string;
  icon: ReactNode;
  /** Groups of actions, separated by lines. */
  groups: readonly (readonly MenuAction[])[];
}

/** Button with a menu of actions, with keyboard navigation by arrows, Home, End and first letters. */
export function ActionMenu({ label, icon, groups }: ActionMenuProps) {
  const movesFocus = useRef(false);
  const button = useRef<HTMLButtonElement>(null);
  const popup = useRef<HTMLDivElement>(null);
  const [place, setPlace] = useState<HTMLElement | null>(null);
  const [isOpen, setOpen] = useState(false);
  return (
    // The menu follows its button in the document: it belongs to the same landmark or popover, and Tab leads on from
    // there. Base UI's elements that would move the focus to it, which axe takes for hidden controls, have nothing to do.
    <div
      ref={setPlace}
      className="grid [&_[data-base-ui-focus-guard]]:hidden"
      onBlur={({ currentTarget, relatedTarget }) => {
        if (!relatedTarget || currentTarget.contains(relatedTarget)) return;
        movesFocus.current = true;
        setOpen(false);
      }}
    >
      <Menu.Root
        modal={false}
        open={isOpen}
        onOpenChange={(open) => {
          setOpen(open);
          if (open) movesFocus.current = false;
          else if (!movesFocus.current && popup.current?.contains(document.activeElement)) {
            // Before the focused item goes: a popover around the menu takes a focus that is lost to the page.
            button.current?.focus({ preventScroll: true });
          }
        }}
      >
        <Menu.Trigger ref={button} render={<IconButton size="sm" label={label} icon={icon} />} />
        <Menu.Portal container={place}>
          <Menu.Positioner {...floatingPlace} positionMethod="fixed" align="end">
            <Menu.Popup
              ref={popup}
              aria-label={label}
              finalFocus={() => !movesFocus.current}
              className={cn(floatingClass, "max-h-(--available-height) min-w-44")}
            >
              {groups.map((actions, index) => (
                // oxlint-disable-next-line react/no-array-index-key
                <Fragment key={index}>
                  {index > 0 && <Menu.Separator className="mx-2.5 my-1.5 border-t border-line" />}
                  {actions.map((action) => (
                    <Menu.Item
                      key={action.label}
                      onClick={() => {
                        movesFocus.current = action.movesFocus === true;
                        action.onSelect();
                      }}
                      className="flex min-h-9 cursor-default items-center gap-2.5 rounded-md px-2.5 text-md outline-none select-none data-highlighted:bg-sunken touch:min-h-11 [&_svg]:size-4 [&_svg]:text-ink-2"
                    >
                      {action.icon}
                      {action.label}
                    </Menu.Item>
                  ))}
                </Fragment>
              ))}
            </Menu.Popup>
          </Menu.Positioner>
        </Menu.Portal>
      </Menu.Root>
    </div>
  );
}
