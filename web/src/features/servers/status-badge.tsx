import { t } from "@/lib/later-texts";
import { Badge } from "@/ui/badge";
import { isKnownStatus, statusTone } from "./server-connection";

interface StatusBadgeProps {
  status: string;
  className?: string;
}

/** Status of a connection in words and its color. One that this page does not know is shown as it is stored. */
export function StatusBadge({ status, className }: StatusBadgeProps) {
  return (
    <Badge tone={statusTone(status)} {...(className !== undefined && { className })}>
      {isKnownStatus(status) ? t(`servers.status.${status}`) : status}
    </Badge>
  );
}
