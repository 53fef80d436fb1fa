/**
 * Functions of documents run in UTC on every host, so that the rows of a view do not depend on the machine that made them
 * (docs/http/functions.md#the-sandbox). QuickJS asks Emscripten's `localtime` for the offset of each point in time, which Emscripten finds
 * out from the host's `Date`. Here it returns the time in UTC.
 */
import { findImport, type ImportName, readSections, TYPE } from './wasm-imports.ts';

/** Takes the seconds since 1970, and where to write a `struct tm`. */
export type LocalTime = (seconds: bigint, pointer: number) => void;

/** Returns the import that is `localtime`; undefined if it is not the only one of its type. */
export function findLocalTime(bytes: Uint8Array): ImportName | undefined {
  return findImport(bytes, readSections(bytes), { parameters: [TYPE.i64, TYPE.i32], results: [] });
}

const DAY_MS = 24 * 60 * 60 * 1000;

/** Writes the members of `struct tm` in the order of musl, each 32 bits: seconds to the day of the year, no summer time, offset 0. */
export function utcLocalTime(memory: { readonly buffer: ArrayBufferLike }): LocalTime {
  return (seconds, pointer) => {
    const date = new Date(Number(seconds) * 1000);
    const year = date.getUTCFullYear();
    const yearDay = Math.floor((date.getTime() - Date.UTC(year, 0)) / DAY_MS);
    const members = [
      date.getUTCSeconds(),
      date.getUTCMinutes(),
      date.getUTCHours(),
      date.getUTCDate(),
      date.getUTCMonth(),
      year - 1900,
      date.getUTCDay(),
      yearDay,
      0,
      0,
    ];
    new Int32Array(memory.buffer, pointer, members.length).set(members);
  };
}
