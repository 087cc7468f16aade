import { useEffect } from "react";
import { Link, useLocation } from "wouter";
import { t } from "@/lib/t";
import { buttonClass } from "@/ui/button";

export function NotFoundPage() {
  const [path] = useLocation();
  useEffect(() => {
    console.error("404: no page at", path);
  }, [path]);
  return (
    <main className="grid h-full place-content-center justify-items-center px-5 text-center">
      <p className="text-[3.5rem] leading-16 tracking-tighter text-ink-2 tabular-nums">
        {t("notFound.code")}
      </p>
      <h1 className="mt-2 mb-[18px]">{t("notFound.title")}</h1>
      <Link href="/" className={buttonClass()}>
        {t("notFound.home")}
      </Link>
    </main>
  );
}
