import { useId } from "react";
import { type Choice, ChoiceGroup } from "./choice-group";

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
export function ChoiceRow<Value extends string>({ title, about, ...group }: ChoiceRowProps<Value>) {
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
      <ChoiceGroup {...group} aria-labelledby={id} aria-describedby={`${id}-about`} />
    </div>
  );
}
