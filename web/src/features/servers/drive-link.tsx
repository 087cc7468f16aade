import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Check } from "lucide-react";
import { boot } from "@/lib/boot";
import { t } from "@/lib/later-texts";
import { Button } from "@/ui/button";
import { toastError } from "@/ui/toast";
import { googleDrive, googleDriveLink, unlinkGoogleDrive } from "./queries";

/** State of the user's Google Drive, with the link to connect it; nothing if the operator has not set it up. */
export function DriveLink({ userId }: { userId: string }) {
  const client = useQueryClient();
  const drive = useQuery({ ...googleDrive(userId), enabled: boot.googleDrive === true });
  const onError = toastError;
  const link = useMutation({
    mutationFn: googleDriveLink,
    onSuccess: (url) => location.assign(url),
    onError,
  });
  const unlink = useMutation({
    mutationFn: unlinkGoogleDrive,
    onSuccess: () => client.invalidateQueries({ queryKey: googleDrive(userId).queryKey }),
    onError,
  });
  if (drive.data?.configured !== true) return null;
  if (!drive.data.linked) {
    return (
      <Button size="sm" className="mt-2" disabled={link.isPending} onClick={() => link.mutate()}>
        {t("servers.drive.link")}
      </Button>
    );
  }
  return (
    <p className="mt-1 flex items-center gap-1.5">
      <Check aria-hidden="true" className="size-4 text-ok" />
      {t("servers.drive.linked")}
      <Button variant="quiet" size="sm" disabled={unlink.isPending} onClick={() => unlink.mutate()}>
        {t("servers.drive.unlink")}
      </Button>
    </p>
  );
}
