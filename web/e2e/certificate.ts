import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

/** Certificate for a server at `localhost`, with its authority. */
export interface Certificate {
  key: Buffer;
  cert: Buffer;
  /** The file of the authority that vouches for it: `SSL_CERT_FILE` for who is to trust it. */
  authority: string;
  remove: () => Promise<void>;
}

/** Makes an authority, and a certificate of it for `localhost`. */
export async function makeCertificate(): Promise<Certificate> {
  const folder = await mkdtemp(join(tmpdir(), "ai-chat-mcp-tls-"));
  const openssl = (...words: string[]) => promisify(execFile)("openssl", words, { cwd: folder });
  const made = ["-newkey", "rsa:2048", "-nodes"];
  const authority = ["-days", "2", "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=Test authority"];
  await openssl("req", "-x509", ...made, ...authority);
  await openssl("req", ...made, "-keyout", "key", "-out", "csr", "-subj", "/CN=localhost");
  await writeFile(join(folder, "names"), "subjectAltName=DNS:localhost\n");
  const signer = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "names"];
  await openssl("x509", "-req", "-in", "csr", "-out", "cert", ...signer);
  return {
    key: await readFile(join(folder, "key")),
    cert: await readFile(join(folder, "cert")),
    authority: join(folder, "ca.pem"),
    remove: () => rm(folder, { recursive: true }),
  };
}
