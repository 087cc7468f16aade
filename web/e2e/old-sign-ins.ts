import { DatabaseSync } from "node:sqlite";

/** Lets the proofs of identity of all sign-ins of an app be two days old. */
export function ageSignIns(dataDir: string): void {
  const database = new DatabaseSync(`${dataDir}/test.db`);
  const first = "$[0].timestamp";
  database.exec(
    `UPDATE auth_sessions SET amr = json_set(amr, '${first}', json_extract(amr, '${first}') - 172800)`,
  );
  database.close();
}
