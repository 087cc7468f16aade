import type { ReactNode } from "react";

export interface Choice<Value extends string> {
  readonly value: Value;
  readonly label: ReactNode;
  /** Language of the label, if it is not the page's. */
  readonly lang?: string;
}

interface ChoiceGroupProps<Value extends string> {
  /** Name of the radio buttons. */
  name: string;
  choices: readonly Choice<Value>[];
  chosen: Value;
  onChoose: (value: Value) => void;
  "aria-label"?: string;
  "aria-labelledby"?: string;
  "aria-describedby"?: string;
}

/** Few values in a row, one of which is selected. */
export function ChoiceGroup<Value extends string>({
  name,
  choices,
  chosen,
  onChoose,
  ...aria
}: ChoiceGroupProps<Value>) {
  return (
    <div
      role="radiogroup"
      {...aria}
      className="flex max-w-full flex-wrap gap-0.5 rounded-[12px] bg-sunken p-[3px]"
    >
      {choices.map(({ value, label, lang }) => (
        <label
          key={value}
          lang={lang}
          className="relative inline-flex h-8 items-center gap-2 rounded-[9px] px-3.5 text-md font-medium text-ink-2 transition-colors duration-150 hover:text-ink has-checked:bg-surface has-checked:text-ink has-checked:shadow-raised has-focus-visible:outline-2 has-focus-visible:outline-offset-2 has-focus-visible:outline-accent justify-center touch:h-11 touch:min-w-11"
        >
          <input
            type="radio"
            name={name}
            value={value}
            checked={value === chosen}
            onChange={() => onChoose(value)}
            className="absolute inset-0 size-full appearance-none rounded-[9px] outline-none"
          />
          {label}
        </label>
      ))}
    </div>
  );
}
