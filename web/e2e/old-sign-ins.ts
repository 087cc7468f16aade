import { DatabaseSync } from "node:sqlite";

/** Lets the proofs of identity of all sign-ins of an app be two days old. */
export function ageSignIns(dataDir: string): void {
  const database = new DatabaseSync(`${dataDir}/test.db`, { timeout: 5_000 });
  database.exec(`
    UPDATE auth_sessions SET amr = (
      SELECT json_group_array(json_set(proof.value, '$.timestamp', json_extract(proof.value, '$.timestamp') - 172800))
      FROM json_each(auth_sessions.amr) AS proof
    )`);
  database.close();
}
