import { Check } from "lucide-react";
import type { ReactNode } from "react";
import { useCopy } from "@/markdown/copy-button";
import { IconButton } from "@/ui/button";

interface CopyJsonProps {
  label: string;
  icon: ReactNode;
  /** Writes the text when it is copied. */
  write: () => string;
}

/** Button that copies a part of a JSON value. */
export function CopyJson({ label, icon, write }: CopyJsonProps) {
  const [{ said, succeeded }, copy] = useCopy();
  return (
    <>
      <IconButton
        size="sm"
        label={said || label}
        icon={succeeded ? <Check /> : icon}
        onClick={() => void copy(write())}
      />
      <span role="status" className="sr-only">
        {said}
      </span>
    </>
  );
}
