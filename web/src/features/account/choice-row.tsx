import { type ReactNode, useId } from "react";

interface Choice<Value extends string> {
  readonly value: Value;
  readonly label: ReactNode;
  /** Language of the label, if it is not the page's. */
  readonly lang?: string;
}

interface ChoiceRowProps<Value extends string> {
  /** Name of the radio buttons. */
  name: string;
  title: string;
  about: string;
  choices: readonly Choice<Value>[];
  chosen: Value;
  onChoose: (value: Value) => void;
}

/** Row of a setting with few values, all of them in sight. */
export function ChoiceRow<Value extends string>({
  name,
  title,
  about,
  choices,
  chosen,
  onChoose,
}: ChoiceRowProps<Value>) {
  const id = useId();
  return (
    <div className="flex flex-wrap items-center justify-between gap-x-5 gap-y-2.5 py-4">
      <div className="min-w-0 flex-[1_1_11rem]">
        <p id={id} className="text-md font-medium">
          {title}
        </p>
        <p id={`${id}-about`} className="text-sm text-ink-2">
          {about}
        </p>
      </div>
      <div
        role="radiogroup"
        aria-labelledby={id}
        aria-describedby={`${id}-about`}
        className="flex max-w-full flex-wrap gap-0.5 rounded-[12px] bg-sunken p-[3px]"
      >
        {choices.map(({ value, label, lang }) => (
          <label
            key={value}
            lang={lang}
            className="relative inline-flex h-8 items-center gap-2 rounded-[9px] px-3.5 text-md font-medium text-ink-2 transition-colors duration-150 hover:text-ink has-checked:bg-surface has-checked:text-ink has-checked:shadow-raised has-focus-visible:outline-2 has-focus-visible:outline-offset-2 has-focus-visible:outline-accent touch:h-11"
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
    </div>
  );
}
