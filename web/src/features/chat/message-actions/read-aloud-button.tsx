import { Square, Volume2 } from "lucide-react";
import { t } from "@/lib/later-texts";
import { IconButton } from "@/ui/button";
import { canReadAloud, readAloud, stopReading, useIsReading } from "./read-aloud";

/** Button that reads an answer aloud, and stops it. */
export function ReadAloudButton({ id, text }: { id: string; text: string }) {
  const isReading = useIsReading(id);
  if (!canReadAloud || text === "") return null;
  return (
    <IconButton
      size="sm"
      label={t(isReading ? "steering.read.stop" : "steering.read")}
      icon={isReading ? <Square fill="currentColor" className="scale-80" /> : <Volume2 />}
      onClick={() => (isReading ? stopReading() : readAloud(id, text))}
    />
  );
}
