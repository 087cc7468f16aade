import { createHmac } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const stepSeconds = 30;

/** Maximum delivery time of a code, in milliseconds. */
const underWay = 5_000;

/** Milliseconds until the codes are others. */
function stepLeft(): number {
  return stepSeconds * 1_000 - (Date.now() % (stepSeconds * 1_000));
}

/**
 * The code that an authenticator app shows (RFC 6238, with the parameters that all apps have). The server takes each step
 * once; `later` gives the code of a step before or after this one, by which clocks may differ. One before is good for as long
 * as this step lasts, and so waits for the next when little of it is left.
 */
export async function totp(secret: string, later = 0): Promise<string> {
  if (later < 0 && stepLeft() < underWay) await sleep(stepLeft());
  const step = Math.floor(Date.now() / 1_000 / stepSeconds) + later;
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const mac = createHmac("sha1", bytesOf(secret)).update(counter).digest();
  const at = (mac.at(-1) ?? 0) & 0xf;
  return String((mac.readUInt32BE(at) & 0x7f_ff_ff_ff) % 1_000_000).padStart(6, "0");
}

/** Base32 without padding, as secrets are written (RFC 4648). */
function bytesOf(secret: string): Buffer {
  const bits = [...secret.replaceAll(/\s/gu, "")]
    .map((letter) => alphabet.indexOf(letter).toString(2).padStart(5, "0"))
    .join("");
  return Buffer.from((bits.match(/.{8}/gu) ?? []).map((byte) => Number.parseInt(byte, 2)));
}
